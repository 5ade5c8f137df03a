// The filter of trials, as the address and requests have it.

/** @import { Group, Scalar } from "../../api" */

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
    const [, operator, value] = (restOf(condition, name) || "").match(/^([<>]=?|=)(.*)$/) || [];
    if (!operator || value.trim() === "" || Number.isNaN(Number(value))) continue;
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
  where.filter((condition) => restOf(condition, name) === undefined);

/**
 * restOf returns a condition from its operator on, if it is about a name. The server alone divides
 * conditions, by the names that there are.
 * @param {string} condition
 * @param {string} name
 */
function restOf(condition, name) {
  const begin = [subjectOf(name), name].find((text) => condition.trimStart().startsWith(text));
  const rest = begin && condition.trimStart().slice(begin.length).trimStart();
  return rest && /^[=!<>]/.test(rest) ? rest : undefined;
}

/**
 * subjectOf writes the name of a column so that a condition can begin with it: in quotes if it has
 * operators.
 * @param {string} name
 */
export function subjectOf(name) {
  const [, kind = "", own] = name.match(/^((?:parameter|metric|trial)\.)?(.*)$/) || [];
  return /[=!<>]/.test(own) && !own.startsWith('"') ? kind + JSON.stringify(own) : name;
}

/**
 * whereOf writes the condition that a parameter has a value, or that a trial does not have the
 * parameter if it is undefined. A text that would read as something else is quoted.
 * @param {string} parameter
 * @param {Scalar | undefined} value
 */
export function whereOf(parameter, value) {
  return subjectOf(parameter) + "=" + (value === undefined ? "" : whereText(value));
}

/**
 * whereOfGroup writes the conditions that a group's trials meet.
 * @param {string[]} by
 * @param {Group} group
 */
export const whereOfGroup = (by, group) =>
  by.map((name, i) => whereOf(name, group.missing?.includes(i) ? undefined : group.values[i]));

/**
 * conditionsOf divides a text into conditions at each "and" before which there is one.
 * @param {string} text
 */
export function conditionsOf(text) {
  /** @type {string[]} */
  const list = [];
  for (const part of text.split(/ and /)) {
    const last = list.at(-1);
    if (last === undefined || /[=!<>]/.test(last)) list.push(part);
    else list[list.length - 1] = last + " and " + part;
  }
  return list.map((condition) => condition.trim());
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
