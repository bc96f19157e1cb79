// The softmax of a row, as far as a page works it out.

const PARTS = 1024; // of a doubling, of which the powers are at hand
const UNIT = Math.LN2 / PARTS;
const POWERS = Float64Array.from({ length: PARTS }, (_, n) => 2 ** (n / PARTS));
const HALVES = Float64Array.from({ length: 64 }, (_, n) => 2 ** -n);
const LEAST = -43; // nats below the largest: the sum has no digit for less

// The logarithm of the sum that the softmax of a row divides by. A map of many cells waits for it,
// and `Math.exp` would take three times as long: here an exponential is a power that is at hand, times
// that of the rest, which is so small that four terms of its series have all digits.
export function normalizerOf(scores, sink) {
  let largest = sink ?? -Infinity;
  for (let n = 0; n < scores.length; n++) if (scores[n] > largest) largest = scores[n];
  let sum = sink === undefined ? 0 : Math.exp(sink - largest);
  for (let n = 0; n < scores.length; n++) {
    const x = scores[n] - largest;
    if (x < LEAST) continue;
    const units = (x * (1 / UNIT)) | 0;
    const rest = x - units * UNIT;
    const power = POWERS[units & (PARTS - 1)] * HALVES[-(units >> 10)];
    sum += power * (1 + rest * (1 + rest * (0.5 + rest / 6)));
  }
  return largest + Math.log(sum);
}
