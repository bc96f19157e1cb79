// Reloads the page once the site was built again, and shows what stops a build, and what of a page
// is still to come. The server of `serve --watch` adds it to the pages that it sends; no site has it.

{
  const PAUSE = 200; // milliseconds between two questions
  const STYLE =
    "position:fixed;inset:auto 0 0 0;z-index:1000;margin:0;padding:1rem 1.5rem;max-height:60vh;" +
    "overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.5 monospace;" +
    "color:#fff;background:#7a1020;border-top:4px solid #ff8a8a";
  const LATER =
    "position:fixed;inset:auto auto .5rem .5rem;z-index:999;margin:0;padding:.4rem .8rem;" +
    "max-width:calc(100vw - 2.6rem);font:13px/1.4 sans-serif;color:#fff;background:#3a4a6b;" +
    "border:1px solid #9db4e8;border-radius:.3rem";
  const MARK = "padding:0 .4em;color:#222;background:#ffdf7e;border-radius:.3em";
  const shown = new URL(document.currentScript.src).searchParams.get("built");
  const boxes = { error: ["pre", "alert", STYLE], later: ["div", "status", LATER] };
  for (const [name, [tag, role, style]] of Object.entries(boxes)) {
    const box = Object.assign(document.createElement(tag), { id: `reload-${name}` });
    box.setAttribute("role", role);
    box.style.cssText = style;
    boxes[name] = box;
  }

  function tell(box, text) {
    if (!text) box.remove();
    else if (!box.isConnected || box.textContent !== text) {
      box.textContent = text;
      document.body.append(box);
    }
  }

  async function ask() {
    try {
      const page = encodeURIComponent(location.pathname);
      const answer = await fetch(`/.reload?page=${page}`, { cache: "no-store" });
      const { built, error, later } = await answer.json();
      if (built !== shown) return location.reload();
      tell(boxes.error, error);
      tell(boxes.later, later);
      for (const mark of document.querySelectorAll(".later")) mark.style.cssText = MARK;
    } catch {
      // The server was stopped. It may come back.
    }
    setTimeout(ask, PAUSE);
  }
  ask();
}
