// Reloads the page once the site was built again, and shows what stops a build. The server of
// `serve --watch` adds it to the pages that it sends; no site has it.

{
  const PAUSE = 400; // milliseconds between two questions
  const STYLE =
    "position:fixed;inset:auto 0 0 0;z-index:1000;margin:0;padding:1rem 1.5rem;max-height:60vh;" +
    "overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;font:14px/1.5 monospace;" +
    "color:#fff;background:#7a1020;border-top:4px solid #ff8a8a";
  const shown = new URL(document.currentScript.src).searchParams.get("built");
  const box = Object.assign(document.createElement("pre"), { id: "reload-error" });
  box.setAttribute("role", "alert");
  box.style.cssText = STYLE;

  function tell(error) {
    if (!error) box.remove();
    else if (!box.isConnected || box.textContent !== error) {
      box.textContent = error;
      document.body.append(box);
    }
  }

  async function ask() {
    try {
      const answer = await fetch("/.reload", { cache: "no-store" });
      const { built, error } = await answer.json();
      if (built !== shown) return location.reload();
      tell(error);
    } catch {
      // The server was stopped. It may come back.
    }
    setTimeout(ask, PAUSE);
  }
  ask();
}
