// Scales and ticks of charts drawn as SVG.

// ticks are round numbers between two ends.
export function ticks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const raw = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    list.push(Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12)));
  return list;
}

export function logTicks(low, high) {
  const list = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    list.push(10 ** e);
  const inside = list.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  return inside.length >= 2 ? inside : [low, high];
}

// scaleOf returns where a number stands between 0 and 1; log says whether in
// logarithms.
export function scaleOf(low, high, log) {
  if (log) {
    const a = Math.log(low),
      b = Math.log(high);
    return (v) => (b > a ? (Math.log(v) - a) / (b - a) : 0.5);
  }
  return (v) => (high > low ? (v - low) / (high - low) : 0.5);
}

// wantsLog says whether numbers are better read in logarithms.
export const wantsLog = (low, high) => low > 0 && high / low >= 50;
