// Integers as text: Rice codes in base64. The twin of report/datasets/formats/rice.py, which says
// how they lie.

// The integers of all groups, one group after the other.
export function readRice(text, groups, size) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const numbers = new Int32Array(groups * size);
  const bits = bytes.subarray(0, groups).reduce((sum, k) => sum + k, 0) * size;
  let low = 8 * groups;
  let high = low + 8 * Math.ceil(bits / 8);
  const end = 8 * bytes.length;
  for (let group = 0, n = 0; group < groups; group++) {
    const k = bytes[group];
    for (const stop = n + size; n < stop; n++) {
      let code = 0;
      while (high < end && !((bytes[high >> 3] >> (7 - (high & 7))) & 1)) code++, high++;
      if (high++ >= end) throw new Error("a file of a head is cut off");
      for (let bit = 0; bit < k; bit++, low++) {
        code = 2 * code + ((bytes[low >> 3] >> (7 - (low & 7))) & 1);
      }
      numbers[n] = code & 1 ? -(code + 1) / 2 : code / 2;
    }
  }
  return numbers;
}

// Calls add(place, integer) for each of the integers that are not 0.
export function eachOfFew({ number, skipped, missing }, add) {
  const [gaps, integers] = [skipped, missing].map((text) => readRice(text, 1, number));
  for (let k = 0, place = -1; k < number; k++) add((place += gaps[k] + 1), integers[k]);
}
