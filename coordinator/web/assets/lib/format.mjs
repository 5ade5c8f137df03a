// Numbers, times and sizes as text.

const integerFormat = new Intl.NumberFormat("en");

export const count = (n) => (n === null || n === undefined ? "" : integerFormat.format(n));

export function number(v, digits = 4) {
  if (v === null || v === undefined) return "";
  if (typeof v !== "number") return typeof v === "string" ? v : JSON.stringify(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e6) return String(v);
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e6))
    return v
      .toExponential(digits - 1)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return String(Number(v.toPrecision(digits)));
}

// exact is for titles and parameters: every digit that there is.
export const exact = (v) =>
  v === null || v === undefined ? "none" : typeof v === "string" ? v : JSON.stringify(v);

export function dateTime(text) {
  if (!text) return "";
  return new Date(text).toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  if (seconds < 60) return number(seconds, 3) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  return Math.floor(seconds / 3600) + " h " + Math.round((seconds % 3600) / 60) + " min";
}

export function bytes(bytes) {
  if (bytes < 1024) return bytes + " B";
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let v = bytes / 1024,
    i = 0;
  while (v >= 1024 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return number(v, 3) + " " + units[i];
}
