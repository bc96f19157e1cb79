// What a hover card shows of a figure that the text refers to: its still picture and its title. The
// figure may be on this page or in another article.

const pages = new Map(); // address of another page -> promise of its document

// The nodes that show the figure that a link leads to; null if there is none.
export async function figurePreview(link) {
  const url = new URL(link.href);
  const id = /^#(fig-\d+)/.exec(url.hash)?.[1];
  const page = url.pathname === location.pathname ? document : await other(url);
  const figure = id && page.getElementById(id);
  return figure ? [picture(figure, url), ...words(figure)] : null;
}

function other({ origin, pathname }) {
  const address = origin + pathname;
  if (!pages.has(address)) {
    const page = fetch(address).then(async (answer) => {
      if (!answer.ok) throw new Error(`${pathname} answered ${answer.status}`);
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    });
    page.catch(() => pages.delete(address)); // a failure may be tried again
    pages.set(address, page);
  }
  return pages.get(address);
}

// The first still picture in the palette of this page. What it shows is told by the words.
function picture(figure, url) {
  const shade = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  const still = figure.querySelector(`.live-figure__picture[src*="-${shade}.svg"]`);
  const image = Object.assign(document.createElement("img"), { alt: "", className: "hover-card__picture" });
  // its own size is known, so that the card has its height before the picture is there
  image.width = still.getAttribute("width");
  image.height = still.getAttribute("height");
  image.src = new URL(still.getAttribute("src").split("#")[0], url);
  return image;
}

function words(figure) {
  const line = document.createElement("p");
  const number = figure.querySelector(".live-figure__number").textContent;
  const title = figure.querySelector("figcaption strong").textContent;
  const strong = Object.assign(document.createElement("strong"), { textContent: `${number} ${title}` });
  line.append(strong);
  return [line];
}
