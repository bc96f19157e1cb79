// The menu that a figure's last button opens: files to download, and ways to show the figure
// elsewhere. Nothing is sent to another host. A specification for the Vega editor is copied, to be
// pasted there.

import { reason } from "../data/loading.js";
import { download, settled } from "./downloads.js";
import { aloneAt, snippet } from "./sharing.js";
import { specification } from "./specification.js";
import { nameOf } from "./picture.js";

// Opens the menu of a button, or closes it.
export function toggleMenu(figure, button, tools) {
  if (button.getAttribute("aria-expanded") === "true") return button.close();
  const menu = build(figure, tools);
  menu.id = `${figure.element.id}-menu`;
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", menu.id);
  button.parentElement.after(menu);

  const outside = ({ target }) => menu.contains(target) || button.contains(target) || close();
  const press = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // it clears no marks
    close();
    button.focus();
  };
  const close = () => {
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
    removeEventListener("pointerdown", outside, true);
    button.removeEventListener("keydown", press);
  };
  button.close = close;
  menu.addEventListener("keydown", press);
  button.addEventListener("keydown", press);
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget) && relatedTarget !== button) close();
  });
  addEventListener("pointerdown", outside, true);
  menu.querySelector("button").focus();
}

function build(figure, { number, say, copy }) {
  const menu = make("div", { className: "live-figure__menu" });
  menu.setAttribute("role", "group");
  menu.setAttribute("aria-label", `${number} Download and embed`.replace(".", ":"));

  const row = (label, ...items) => {
    const line = make("div", { className: "live-figure__offer" });
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", label);
    line.append(make("span", { textContent: label }), ...items);
    menu.append(line);
  };
  const act = (text, does, label = text) => {
    const button = make("button", { type: "button", textContent: text });
    if (label !== text) button.setAttribute("aria-label", label);
    button.addEventListener("click", async () => {
      try {
        await does();
      } catch (error) {
        console.warn(error);
        say(`That did not work (${reason(error)}).`);
      }
    });
    return button;
  };
  const cells = partChoice(figure);
  const whole = () => cells?.value === "all";
  const save = (kind, panel = () => 0) => async () =>
    say(`Saved ${await download(figure, kind, { panel: panel(), whole: whole() })}`);

  if (cells) row("Of the map", cells);
  row("Numbers", act("CSV", save("csv")), act("JSON", save("json")));
  row("Picture", act("SVG", save("svg")), act("PNG", save("png")));
  const panels = panelChoice(figure);
  const panel = () => Number(panels?.value ?? 0);
  const forEditor = async () => {
    await settled(figure);
    const spec = await specification(figure.charts[panel()], whole());
    await copy(JSON.stringify(spec), "Specification copied: paste it into the Vega editor");
  };
  row(
    "Vega-Lite",
    ...(panels ? [panels] : []),
    act("File", save("spec", panel), "Vega-Lite file with the data in it"),
    act("Copy for the Vega editor", forEditor),
  );
  // a page in one file that is published nowhere has no page of the figure alone
  if (!figure.element.dataset.embed) return menu;
  const alone = make("a", { href: aloneAt(figure), textContent: "Open alone" });
  alone.addEventListener("click", () => (alone.href = aloneAt(figure)));
  const share = () => copy(snippet(figure, nameOf(figure)), "Snippet copied");
  row("Embed", act("Copy snippet", share), alone);
  return menu;
}

// Whether files are of the part of a map that is shown, or of all; nothing to choose where all is.
function partChoice(figure) {
  if (!figure.picks.part) return null;
  const choice = make("select");
  choice.setAttribute("aria-label", "Part of the map");
  choice.append(make("option", { value: "part", textContent: "the part shown" }));
  choice.append(make("option", { value: "all", textContent: "all of it" }));
  return choice;
}

// Which panel a specification is of; nothing to choose for a figure that is one chart.
function panelChoice(figure) {
  if (figure.charts.length < 2) return null;
  const choice = make("select");
  choice.setAttribute("aria-label", "Panel");
  figure.charts.forEach((_, n) => choice.append(make("option", { value: n, textContent: `panel ${n + 1}` })));
  return choice;
}

const make = (name, properties) => Object.assign(document.createElement(name), properties);
