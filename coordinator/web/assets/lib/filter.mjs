// The filter of trials, as the address and requests have it.

/** @import { Scalar } from "../../api" */

/** @typedef {{state: string[], where: string[]}} Filter */

/**
 * filterOf reads the filter from an address.
 * @param {URLSearchParams} query
 * @returns {Filter}
 */
export function filterOf(query) {
  return { state: query.getAll("state"), where: query.getAll("where") };
}

/**
 * rangeOf reads the ends that a filter sets a name, infinite where it sets none.
 * @param {string[]} where
 * @param {string} name
 * @returns {[low: number, high: number]}
 */
export function rangeOf(where, name) {
  let [low, high] = [-Infinity, Infinity];
  for (const condition of where) {
    const [, subject, operator, value] = condition.match(/^([^=!<>]+)([<>]=?|=)(.*)$/) || [];
    if (subject?.trim() !== name || value.trim() === "" || Number.isNaN(Number(value))) continue;
    if (operator !== "<" && operator !== "<=") low = Math.max(low, Number(value));
    if (operator !== ">" && operator !== ">=") high = Math.min(high, Number(value));
  }
  return [low, high];
}

/**
 * without returns the conditions of a filter that are about other names.
 * @param {string[]} where
 * @param {string} name
 */
export const without = (where, name) =>
  where.filter((condition) => condition.split(/[=!<>]/)[0].trim() !== name);

/**
 * whereOf writes the condition that a parameter has a value. A text that would read as
 * something else is quoted.
 * @param {string} parameter
 * @param {Scalar} value
 */
export function whereOf(parameter, value) {
  return parameter + "=" + whereText(value);
}

/** @param {Scalar} value */
function whereText(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  try {
    JSON.parse(value);
    return JSON.stringify(value);
  } catch {
    return value;
  }
}
