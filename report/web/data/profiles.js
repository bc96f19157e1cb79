// Terms by target or by distance: what a term does whoever looks. The twin of
// report/figures/parts/profiles.py, which says why rows are not simply averaged.

const MOST_ROWS = 512; // current tokens that are averaged over

// Each term for each target, less its mean: {term: [T]}.
export function byTarget(map, names) {
  const found = {};
  for (const name of names) {
    const { per, step, values } = map.shard.terms[name] ?? {};
    const alone = per === "target" || per === "target_difference";
    found[name] = centred(
      alone
        ? values.map((value) => value * step)
        : commonPart(rowsOf(map, name), map.size),
    );
  }
  return found;
}

const rowsOf = (map, name) =>
  Array.from(spread(map, MOST_ROWS), (i) => ({
    first: map.first[i],
    values: termRow(map, name, i),
  }));

// Some current tokens at equal distances, at most so many, the last one included; the rows of four are
// worked out at once. The twin of report/figures/parts/spread.py.
export function* spread(map, most) {
  const stride = Math.ceil(map.size / most);
  for (let i = (map.size - 1) % stride; i < map.size; i += 4 * stride) {
    const four = [0, 1, 2, 3].map((n) => i + n * stride).filter((row) => row < map.size);
    map.ahead?.([...four, ...Array(4 - four.length).fill(four.at(-1))], true);
    yield* four;
  }
}

// Each term for each distance, current - target, less its mean; target 0 is left out.
export function byDistance(map, names) {
  const sides = (name) => {
    const [past, future] = [[], []];
    for (const i of spread(map, MOST_ROWS)) {
      const first = Math.max(map.first[i], 1);
      const values = termRow(map, name, i);
      const at = (j) => values[j - map.first[i]];
      past.push(row(i - Math.min(map.last[i], i), i - first, (n) => at(i - n)));
      future.push(row(Math.max(first, i) - i, map.last[i] - i, (n) => at(i + n)));
    }
    return [past, future];
  };
  const terms = new Map(names.map((name) => [name, sides(name)]));
  const [past, future] = pairs(map);
  const both = (back, ahead) => [...ahead.slice(1).reverse(), ...back];
  const count = both(past, future);
  const kept = (values) => values.filter((_, n) => count[n] > 0);
  const found = { distance: kept(count.map((_, n) => n + 1 - map.size)), pairs: kept(count) };
  for (const name of names) {
    const [back, ahead] = terms.get(name).map((of) => commonPart(of, map.size));
    found[name] = centred(kept(both(back, ahead)));
  }
  return found;
}

const termRow = (map, name, i) =>
  map.terms[name] ? map.termRow(name, i) : new Float64Array(map.last[i] - map.first[i] + 1);

// The values of a row at the places from first to last; it may be empty.
function row(first, last, valueAt) {
  const values = new Float64Array(Math.max(0, last - first + 1));
  for (let n = 0; n < values.length; n++) values[n] = valueAt(first + n);
  return { first, values };
}

// How many cells there are at each distance to the past, and to the future.
function pairs({ size, first, last }) {
  const [past, future] = [Array(size).fill(0), Array(size).fill(0)];
  for (let i = 0; i < size; i++) {
    const from = Math.max(first[i], 1);
    for (let j = from; j <= Math.min(last[i], i); j++) past[i - j]++;
    for (let j = Math.max(from, i); j <= last[i]; j++) future[j - i]++;
  }
  return [past, future];
}

// What rows that see different places have in common, [place]: each place stands above the places
// before it as far as it does on average over the rows that see both.
function commonPart(rows, places) {
  const level = [];
  const total = new Float64Array(places + 1); // of the levels before a place
  const sums = new Float64Array(rows.length); // of a row's values before the place
  for (let place = 0; place < places; place++) {
    let [sum, count] = [0, 0];
    for (let n = 0; n < rows.length; n++) {
      const { first, values } = rows[n];
      const before = place - first;
      if (before < 0 || before >= values.length) continue;
      if (before > 0) {
        sum += values[before] - sums[n] / before + (total[place] - total[first]) / before;
        count++;
      }
      sums[n] += values[before];
    }
    level.push(count ? sum / count : 0);
    total[place + 1] = total[place] + level[place];
  }
  return level;
}

function centred(values) {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  return values.map((each) => each - mean);
}
