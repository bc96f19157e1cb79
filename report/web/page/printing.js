// Makes a page ready for paper. It is sent as a part of start.js (see TOGETHER in
// report/pages/assets.py).
//
// On paper a link cannot be followed, so links that leave the site have their address printed.
// Pictures that were never near the window are not there yet; browsers wait for them.

addEventListener("beforeprint", () => {
  for (const link of document.querySelectorAll(".md-content a[href]")) {
    if (link.origin !== location.origin) link.dataset.address = link.href;
  }
  fetchPictures();
});

// The key that begins Ctrl-P: a head start.
addEventListener("keydown", (event) => ["Control", "Meta"].includes(event.key) && fetchPictures());

function fetchPictures() {
  for (const image of document.querySelectorAll("img[loading=lazy]:not([src$='#only-dark'])")) {
    image.loading = "eager";
  }
}
