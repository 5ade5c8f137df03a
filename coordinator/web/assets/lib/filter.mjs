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
