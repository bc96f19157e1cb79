// The text of an example as one head reads it, below its chart: the darker a token, the more surely
// the head looks from it. Pointing at a token, or the arrow keys, mark the token that it looks at.
// Above the text stands what the head does on average, where an atlas of the site says it.

import { atlasOf } from "../reader/atlas.js";

export class Reading {
  // box: its paragraph, and the line that says what is pointed at
  constructor(figure, box) {
    Object.assign(this, { figure, box, at: -1 });
    [this.text, this.says] = ["p", "output"].map((each) => box.querySelector(each));
    this.does = Object.assign(document.createElement("p"), { className: "live-figure__does", hidden: true });
    this.does.setAttribute("role", "status");
    box.prepend(this.does);
    const spot = ({ target }) => [...this.text.children].indexOf(target.closest("span"));
    this.text.addEventListener("pointerover", (event) => this.point(spot(event)));
    this.text.addEventListener("pointerleave", () => this.point(-1));
    this.text.addEventListener("blur", () => this.point(-1));
    this.text.addEventListener("keydown", (event) => this.press(event));
  }

  show({ example }) {
    const [{ shown }] = this.figure.charts;
    this.tokens = shown.datasets.tokens.filter((token) => token.example === example);
    const [{ number, start }] = shown.datasets.chosen.filter((each) => each.example === example);
    this.idle = `Text ${number}${start ? `, from token ${start} on` : ""}.`;
    this.text.replaceChildren(...this.tokens.map(({ word, strength }) => span(word, strength)));
    this.box.hidden = false;
    this.point(-1);
    this.tellHead();
  }

  tellHead() {
    const { head } = this.figure;
    atlasOf(head).then((known) => {
      if (["layer", "head", "model"].some((name) => head[name] !== this.figure.head[name])) return;
      this.does.hidden = !known;
      if (this.does.textContent !== known?.does) this.does.textContent = known?.does ?? "";
    });
  }

  point(at) {
    this.at = at;
    const { target } = this.tokens[at] ?? {};
    [...this.text.children].forEach((each, n) => {
      each.toggleAttribute("data-from", n === at);
      each.toggleAttribute("data-to", n === target);
    });
    this.says.textContent = at < 0 ? this.idle : this.told(at);
  }

  told(at) {
    const { word, strength, target } = this.tokens[at];
    const away = Math.abs(at - target);
    const where = target === at ? "to itself" : `to ${this.named(target)}, ${away} ${target < at ? "back" : "ahead"}`;
    const share = strength < 0.005 ? "less than 1 %" : `${Math.round(100 * strength)} %`;
    return `“${word.trim() || word}” gives most, ${share}, ${where}; the first token is left out.`;
  }

  // A token before the part that is shown has no word here.
  named(target) {
    const { word } = this.tokens[target] ?? {};
    return word === undefined ? "a token before this part" : `“${word.trim() || word}”`;
  }

  press(event) {
    const last = this.tokens.length - 1;
    const at = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") return this.point(-1);
    if (at === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.point(Math.max(0, Math.min(last, at)));
  }
}

function span(word, strength) {
  const made = document.createElement("span");
  made.textContent = word;
  made.style.setProperty("--strength", strength);
  if (word.endsWith("↵")) made.append(document.createElement("br"));
  return made;
}
