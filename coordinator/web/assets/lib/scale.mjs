// Scales and ticks of charts drawn as SVG.

/**
 * ticks are round numbers between two ends.
 * @param {number} low
 * @param {number} high
 * @param {number} [most]
 */
export function ticks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const smallest = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(smallest));
  const step = ([1, 2, 5].find((m) => m * power >= smallest) ?? 10) * power;
  const list = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    list.push(Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12)));
  return list;
}

/**
 * logTicks are the powers of ten between two ends, with 2 and 5 times them if there are few, or the
 * ends if there are none.
 * @param {number} low
 * @param {number} high
 */
export function logTicks(low, high) {
  const powers = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    powers.push(10 ** e);
  /** @param {number[]} list */
  const inside = (list) => list.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  if (inside(powers).length >= 3) return inside(powers);
  const finer = inside(powers.flatMap((power) => [power, 2 * power, 5 * power]));
  return finer.length >= 2 ? finer.map((v) => Number(v.toPrecision(12))) : [low, high];
}

/**
 * spacingOf says on which scale values are spaced more evenly: the one whose largest gap is
 * smaller, in parts of the whole range.
 * @param {number[]} values in order
 * @returns {"log" | "linear"}
 */
export function spacingOf(values) {
  const [low, high] = [values[0], values[values.length - 1]];
  if (!(low > 0) || !(high > low)) return "linear";
  if (values.length === 2) return wantsLog(low, high) ? "log" : "linear";
  /** @param {(value: number) => number} scale */
  const largestGap = (scale) =>
    Math.max(...values.slice(1).map((v, i) => scale(v) - scale(values[i])));
  const [linear, log] = [false, true].map((isLog) => largestGap(scaleOf(low, high, isLog)));
  return log < linear ? "log" : "linear";
}

/**
 * marksOf are the ticks of an axis that lie on it.
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 */
export function marksOf(low, high, log) {
  return log ? logTicks(low, high) : ticks(low, high).filter((t) => t >= low && t <= high);
}

/**
 * scaleOf returns the function that maps low to 0 and high to 1, by logarithms if log is true.
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 * @returns {(value: number) => number}
 */
export function scaleOf(low, high, log) {
  if (log) {
    const [a, b] = [Math.log(low), Math.log(high)];
    return (value) => (b > a ? (Math.log(value) - a) / (b - a) : 0.5);
  }
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}

/**
 * wantsLog says whether numbers between two ends are better read on a logarithmic scale.
 * @param {number} low
 * @param {number} high
 */
export const wantsLog = (low, high) => low > 0 && high / low >= 50;
