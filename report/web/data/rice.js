// Integers as text: Rice codes in base64. The twin of report/datasets/formats/rice.py, which says
// how they lie.

const MOST = 24; // bits that a window of 32 has, wherever in a byte it begins

// The integers of all groups, one group after the other.
export function readRice(text, groups, size) {
  const { bytes, view, end } = bytesOf(text);
  const numbers = new Int32Array(groups * size);
  let low = 8 * groups;
  let high = low + 8 * Math.ceil((bytes.subarray(0, groups).reduce((sum, k) => sum + k, 0) * size) / 8);
  if (high > end) throw cutOff();
  for (let group = 0, n = 0; group < groups; group++) {
    const k = bytes[group];
    for (const stop = n + size; n < stop; n++) {
      let code = 0;
      for (let zeros = MOST; zeros === MOST; code += zeros) {
        zeros = Math.min(Math.clz32(windowAt(view, high)), MOST);
        high += zeros === MOST ? MOST : zeros + 1;
        if (high > end) throw cutOff();
      }
      for (let left = k; left > 0; left -= MOST) {
        const bits = Math.min(left, MOST);
        code = code * (1 << bits) + (windowAt(view, low) >>> (32 - bits));
        low += bits;
      }
      numbers[n] = (code >>> 1) ^ -(code & 1);
    }
  }
  return numbers;
}

const cutOff = () => new Error("a file of a head is cut off");

// The bytes of a text, with some behind them so that every window is full, and how many bits there are.
function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length + 8);
  for (let n = 0; n < letters.length; n++) bytes[n] = letters.charCodeAt(n);
  return { bytes, view: new DataView(bytes.buffer), end: 8 * letters.length };
}

// The bits from a place on, from the highest down: at least 25 of them, then 0s.
const windowAt = (view, at) => view.getInt32(at >> 3) << (at & 7);

// The integers that are not 0, and the place of each: [places, integers].
export function readFew({ number, skipped, missing }) {
  const [gaps, integers] = [skipped, missing].map((text) => readRice(text, 1, number));
  const places = new Int32Array(number);
  for (let k = 0, place = -1; k < number; k++) places[k] = place += gaps[k] + 1;
  return [places, integers];
}
