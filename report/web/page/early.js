// Runs before a page is laid out. What no reader has asked for yet waits.

// --- Charts: where the address names a figure, what draws it and what it shows at first are
// fetched beside the page, and not only once it has been read.

{
  const MODULES = []; // figures.js and all that it imports, listed by the build
  window.scriptsOfFigures = MODULES;
  const [named] = /^#fig-\d+/.exec(location.hash) ?? [];
  // the folder that all assets are in; a page in one file (window.bundled) has none
  const root = window.bundled ? null : new URL("..", document.currentScript.src);
  const fetchAhead = (address, how) => {
    const link = Object.assign(document.createElement("link"), how);
    link.href = new URL(address, how.as ? location : root).href;
    document.head.append(link);
  };
  const fetchData = (figure) => {
    const specs = [...figure.querySelectorAll("[data-spec]")].map(({ dataset }) => dataset.spec);
    const data = [...figure.querySelectorAll("a[data-link-data]")].map((link) => link.href);
    const tokens = document.querySelector(".passage") ? [`${figure.dataset.datasets}passage.json`] : [];
    const files = [...specs.map((each) => each.replace(/\.json$/, ".vega.json")), ...data, ...tokens];
    for (const file of files) fetchAhead(file, { rel: "preload", as: "fetch", crossOrigin: "anonymous" });
  };

  if (named && !window.bundled) {
    for (const name of ["vega.js", ...MODULES]) fetchAhead(name, { rel: "modulepreload" });
    // an address that says what it shows asks for other data
    if (!location.hash.includes("=")) {
      new MutationObserver((_, watch) => {
        const figure = document.querySelector(`${named}:has(a[data-link-data])`);
        if (!figure) return;
        watch.disconnect();
        fetchData(figure);
      }).observe(document, { childList: true, subtree: true });
    }
  }
}

// --- Pictures: the still picture of a figure is for readers who wait for its chart. Mostly the
// chart is there before the figure comes into the window. So a picture is fetched only where there
// is no chart after a moment in the window. start.js calls this again for pages shown without a
// reload.

{
  const PATIENCE = 500; // ms
  document.documentElement.classList.add("pictures-wait"); // see figure/figures.css
  const show = (figure) => {
    if (!figure.matches(".live-figure--live")) figure.classList.add("live-figure--pictured");
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) setTimeout(show, PATIENCE, target);
    }
  });
  window.watchPictures = () =>
    document.querySelectorAll(".live-figure").forEach((figure) => seen.observe(figure));
  document.addEventListener("DOMContentLoaded", window.watchPictures);
}

// --- What the theme has kept in this browser, such as the palette. A damaged value, or one that the
// browser does not give, would stop the theme's scripts. It counts as not kept.

{
  const { __md_get: get, __md_set: set } = window;
  const FORMS = {
    __palette: ({ index, color }) =>
      Number.isInteger(index) && Object.keys(color).every((name) => /^\w+$/.test(name)),
    __tabs: Array.isArray,
  };
  window.__md_get = (name, ...where) => {
    try {
      const value = get(name, ...where);
      return FORMS[name]?.(value) ?? true ? value : null;
    } catch {
      return null;
    }
  };
  window.__md_set = (...given) => {
    try {
      set(...given);
    } catch {
      // the reader's choice lasts as long as the page
    }
  };
}

// --- Search: with every page, Material for MkDocs fetches the index of all pages and a worker to
// search it. No setting changes that. Here both wait until the search field is used. Pages must have
// all words of a query, unless none has.

{
  const used = new Promise((done) => {
    const look = ({ target }) => target.closest?.(".md-search, [for=__search]") && done();
    addEventListener("focusin", look, true);
    addEventListener("pointerdown", look, true);
    if (new URLSearchParams(location.search).has("q")) done(); // the address asks
  });

  const { open, send } = XMLHttpRequest.prototype;
  Object.assign(XMLHttpRequest.prototype, {
    open(method, address, ...more) {
      this.forSearch = /\/search_index\.json$/.test(address);
      return open.call(this, method, address, ...more);
    },
    send(...body) {
      if (this.forSearch) used.then(() => send.apply(this, body));
      else send.apply(this, body);
    },
  });

  // where a reader has written no signs of their own
  const strict = (query) =>
    /["+:~^*]|\B-/.test(query) ? query : query.replace(/(\S+?)-*(\s|$)/g, "+$1* ");

  const NowWorker = Worker;
  class LaterWorker extends EventTarget {
    constructor(address, ...given) {
      super();
      const { href } = new URL(address, location.href); // instant navigation changes what it is from
      this.worker = used.then(() => {
        const worker = new NowWorker(href, ...given);
        worker.addEventListener("message", ({ data }) => {
          const { query } = this;
          this.query = null;
          if (query && data.data?.items?.length === 0) worker.postMessage(query);
          else this.tell(new MessageEvent("message", { data }));
        });
        worker.addEventListener("error", ({ message }) =>
          this.tell(new ErrorEvent("error", { message })),
        );
        return worker;
      });
    }

    tell(event) {
      this.dispatchEvent(event);
      this[`on${event.type}`]?.(event); // as Zensical's search listens
    }

    postMessage(message) {
      const { type, data } = message;
      const asked = type === 2 && data.replace; // a query, as a text
      this.worker.then((worker) => {
        this.query = asked && message;
        worker.postMessage(asked ? { type, data: strict(data) } : message);
      });
    }

    terminate() {
      this.worker.then((worker) => worker.terminate());
    }
  }
  window.Worker = new Proxy(NowWorker, {
    construct: (_, given) =>
      /\/workers\/search\b/.test(given[0]) ? new LaterWorker(...given) : new NowWorker(...given),
  });
}
