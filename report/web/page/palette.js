// Pages without a theme follow the palette that the reader's system asks for.

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => (document.body.dataset.mdColorScheme = dark.matches ? "slate" : "default");
follow();
dark.addEventListener("change", follow);
