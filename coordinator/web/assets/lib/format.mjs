// Numbers, times and sizes as text.

/** @import { Scalar } from "../../api" */

const integerFormat = new Intl.NumberFormat("en");

/**
 * count writes an integer with separators.
 * @param {number | null | undefined} n
 */
export const count = (n) => (n === null || n === undefined ? "" : integerFormat.format(n));

/**
 * counted writes a number of things: "1 trial", "1,200 trials".
 * @param {number} n
 * @param {string} thing in the singular
 */
export const counted = (n, thing) => `${count(n)} ${thing}${n === 1 ? "" : "s"}`;

/**
 * number writes a value in few digits; "" if there is none.
 * @param {Scalar | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return exact(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    const text = value.toExponential(digits - 1);
    return text.replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(value.toPrecision(digits)));
}

/**
 * exact writes every digit that a value has, for parameters and titles.
 * @param {Scalar | undefined} value
 */
export function exact(value) {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {string | undefined} text an RFC 3339 time */
export function dateTime(text) {
  if (!text) return "";
  return new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** @param {Date} date */
export const timeOfDay = (date) => date.toLocaleTimeString("en-GB");

/**
 * secondsBetween returns the seconds from one time to another, or until now.
 * @param {string} from
 * @param {string} [until]
 */
export function secondsBetween(from, until) {
  const end = until ? new Date(until).getTime() : Date.now();
  return (end - new Date(from).getTime()) / 1000;
}

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  if (seconds < 60) return number(seconds, 3) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  return Math.floor(seconds / 3600) + " h " + Math.round((seconds % 3600) / 60) + " min";
}

/** @param {number} n */
export function bytes(n) {
  if (n < 1024) return n + " B";
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = n / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return number(size, 3) + " " + units[unit];
}
