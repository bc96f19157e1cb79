// Heads that a reader singles out in a histogram. A click on a bar or on the legend sets the
// selection "singled" of the specification. Here it is read and set as an address says it ("0+3").

const STORE = "singled_store";

export const hasSingles = (spec) => spec.data.some(({ name }) => name === STORE);

// The selection's data for what an address says, so that a chart can be drawn with it at once.
export function singlesStore(spec, text) {
  const { update } = spec.signals.find(({ name }) => name === "singled_tuple").on[0];
  const unit = /unit: "([^"]+)"/.exec(update)?.[1];
  return { [STORE]: headsOf(text).map((head) => entry(unit, head)) };
}

export class Singles {
  // changed: is called when the reader has singled out others
  constructor(view, spec, changed) {
    this.view = view;
    this.unit = singlesStore(spec, "0")[STORE][0].unit;
    view.addDataListener(STORE, changed);
  }

  get heads() {
    const values = this.view.data(STORE).map((each) => each.values[0]);
    return [...new Set(values)].sort((a, b) => a - b);
  }

  set heads(heads) {
    if (heads.join() === this.heads.join()) return;
    this.view.data(STORE, heads.map((head) => entry(this.unit, head))).runAsync();
  }

  toggle(head) {
    const others = this.heads.filter((each) => each !== head);
    this.heads = others.length < this.heads.length ? others : [...others, head];
  }
}

// Heads that an address names; what is no number is dropped.
export const headsOf = (text = "") =>
  [...new Set(String(text).split("+"))].filter((each) => /^\d{1,6}$/.test(each)).map(Number);

const entry = (unit, head) => ({ unit, fields: [{ type: "E", field: "head" }], values: [head] });
