// Terms by target or by distance: what a term does whoever looks. The twin of
// report/figures/parts/profiles.py, which says why rows are not simply averaged.

// Each term for each target, less its mean: {term: [T]}.
export function byTarget(map, names) {
  const places = Array.from({ length: map.size }, (_, j) => j);
  const found = {};
  for (const name of names) {
    const { per, step, values } = map.shard.terms[name] ?? {};
    const alone = per === "target" || per === "target_difference";
    found[name] = centred(
      alone
        ? values.map((value) => value * step)
        : commonPart(rowsOf(map, name, places)),
    );
  }
  return found;
}

function rowsOf(map, name, places) {
  const term = termOf(map, name);
  return places.map((i) => row(map.first[i], map.last[i], (j) => term(i, j)));
}

// Each term for each distance, current - target, less its mean; target 0 is left out.
export function byDistance(map, names) {
  const sides = (name) => {
    const [past, future] = [[], []];
    const term = termOf(map, name);
    for (let i = 0; i < map.size; i++) {
      const first = Math.max(map.first[i], 1);
      const at = (j) => term(i, j);
      past.push(row(i - Math.min(map.last[i], i), i - first, (n) => at(i - n)));
      future.push(row(Math.max(first, i) - i, map.last[i] - i, (n) => at(i + n)));
    }
    return [past, future];
  };
  const terms = new Map(names.map((name) => [name, sides(name)]));
  const [past, future] = terms.get(names[0]).map((rows) => pairs(rows, map.size));
  const both = (back, ahead) => [...ahead.slice(1).reverse(), ...back];
  const count = both(past, future);
  const kept = (values) => values.filter((_, n) => count[n] > 0);
  const found = { distance: kept(count.map((_, n) => n + 1 - map.size)), pairs: kept(count) };
  for (const name of names) {
    const [back, ahead] = terms.get(name).map((rows) => commonPart(rows, map.size));
    found[name] = centred(kept(both(back, ahead)));
  }
  return found;
}

const termOf = (map, name) => map.terms[name] ?? (() => 0);

// The values of a row at the places from first to last; it may be empty.
function row(first, last, valueAt) {
  const values = new Float64Array(Math.max(0, last - first + 1));
  for (let n = 0; n < values.length; n++) values[n] = valueAt(first + n);
  return { first, values };
}

function pairs(rows, places) {
  const count = Array(places).fill(0);
  for (const { first, values } of rows) values.forEach((_, n) => count[first + n]++);
  return count;
}

// What rows that see different places have in common, [place]: each place stands above the places
// before it as far as it does on average over the rows that see both.
function commonPart(rows, places = rows.length) {
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
