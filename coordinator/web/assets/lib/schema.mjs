// What the views of a sweep know of its parameters and metrics.

import { number } from "./format.mjs";
import { spacingOf } from "./scale.mjs";

/** @import { Column, Goal, Scalar, Scale, Sweep } from "../../api" */

/**
 * @typedef {object} Schema
 * @property {Column[]} columns
 * @property {Partial<Record<string, Column>>} byName
 * @property {string[]} metrics
 * @property {Record<string, Goal>} goals by metric
 * @property {string} mainMetric the metric that is shown unless another is chosen
 * @property {Record<string, Scale>} scales of the parameters with a distribution or a range
 * @property {string[]} varying parameters with several values that the sweep file names, in its
 *   order; the values of others follow from these
 */

/** @typedef {{sweep: Sweep, schema: Schema, version: number}} ViewProps */

/**
 * schemaOf gathers what the views need to know of a sweep's columns. While trials are being
 * read, what the sweep file varies counts as varying, so that columns do not come and go.
 * @param {Sweep} sweep
 * @param {Column[]} columns
 * @param {boolean} reading
 * @returns {Schema}
 */
export function schemaOf(sweep, columns, reading) {
  const metrics = columns.filter((c) => c.kind === "metric").map((c) => c.name);
  const scales = Object.entries(
    Object.assign({}, ...sweep.grids.flatMap((g) => g.axes.map((a) => a.scales))),
  );
  return {
    columns,
    byName: Object.fromEntries(columns.map((c) => [c.name, c])),
    metrics,
    goals: goalsOf(sweep, columns),
    mainMetric: mainMetricOf(sweep, columns, metrics),
    scales: Object.fromEntries(
      scales.map(([own, scale]) => [nameOf(columns, "parameter", own), scale]),
    ),
    varying: varyingOf(sweep, columns, reading),
  };
}

/**
 * ownName is what a column is called without its kind.
 * @param {Column} column
 */
export const ownName = (column) => column.own ?? column.name;

/**
 * nameOf is the name of the column of a kind that is called so.
 * @param {Column[]} columns
 * @param {Column["kind"]} kind
 * @param {string} own
 */
export const nameOf = (columns, kind, own) =>
  columns.find((c) => c.kind === kind && ownName(c) === own)?.name ?? own;

/**
 * @param {Sweep} sweep
 * @param {Column[]} columns
 */
function goalsOf(sweep, columns) {
  /** @type {Record<string, Goal>} */
  const goals = {};
  for (const { name, goal } of sweep.metrics)
    if (goal) goals[nameOf(columns, "metric", name)] = goal;
  const { by, goal } = sweep.select;
  if (by && goal) goals[nameOf(columns, "metric", by)] = goal;
  return goals;
}

/**
 * @param {Sweep} sweep
 * @param {Column[]} columns
 * @param {string[]} metrics
 */
function mainMetricOf(sweep, columns, metrics) {
  const withGoal = sweep.metrics.filter((m) => m.goal).map((m) => m.name);
  const preferred = [sweep.select.by || "", ...withGoal]
    .map((own) => nameOf(columns, "metric", own))
    .concat(metrics);
  return preferred.find((name) => metrics.includes(name)) || "";
}

/**
 * @param {Sweep} sweep
 * @param {Column[]} columns
 * @param {boolean} reading
 */
function varyingOf(sweep, columns, reading) {
  const axes = sweep.grids.flatMap((g) => g.axes);
  const order = [...new Set(axes.flatMap((a) => a.names))];
  /** @param {Column} column */
  const placeOf = (column) =>
    order.includes(ownName(column)) ? order.indexOf(ownName(column)) : order.length;
  const listed = new Set(reading ? axes.filter((a) => a.length > 1).flatMap((a) => a.names) : []);
  const differing = columns.filter(
    (c) => c.kind === "parameter" && (listed.has(ownName(c)) || severalValues(c)),
  );
  const own = differing.filter((column) => order.includes(ownName(column)));
  return (own.length ? own : differing)
    .sort((a, b) => placeOf(a) - placeOf(b) || (a.name < b.name ? -1 : 1))
    .map((column) => column.name);
}

/**
 * severalValues says whether trials differ in a parameter by more than having it or not:
 * whether they have it follows from other parameters.
 * @param {Column} column
 */
export const severalValues = (column) => column.varies && column.distinct !== 1;

/**
 * isNumeric says whether all values of a column are numbers.
 * @param {Column | undefined} column
 */
export const isNumeric = (column) =>
  !!column &&
  column.low !== undefined &&
  (column.values || []).every((value) => typeof value === "number");

/**
 * scaleFor returns the scale of a column's axis: that of the parameter's distribution, else the one
 * on which its values are spaced more evenly.
 * @param {Schema} schema
 * @param {string} name
 * @returns {Scale}
 */
export function scaleFor(schema, name) {
  const column = schema.byName[name];
  if (!column || !isNumeric(column) || (column.low ?? 0) <= 0) return "linear";
  if (schema.scales[name]) return schema.scales[name];
  if (column.kind === "metric") return "linear";
  return spacingOf(/** @type {number[]} */ (column.values || [column.low, column.high]));
}

const maxCells = { drawn: 12, listed: 20 };

/**
 * binsFor returns into how many ranges a parameter is divided, 0 for a place for each value.
 * @param {Schema} schema
 * @param {string} name
 */
export function binsFor(schema, name) {
  const column = schema.byName[name];
  if (!column || !isNumeric(column)) return 0;
  const most = schema.scales[name] ? maxCells.drawn : maxCells.listed;
  return column.distinct < 0 || column.distinct > most ? 12 : 0;
}

/**
 * withoutSeed leaves the seed out, in which the trials of a group differ.
 * @param {string[]} parameters
 */
export const withoutSeed = (parameters) =>
  parameters.filter((name) => name !== "seed" && name !== "parameter.seed");

/**
 * goalOf returns whether a metric is minimized or maximized.
 * @param {Schema} schema
 * @param {string} metric
 */
export const goalOf = (schema, metric) => schema.goals[metric] || "minimize";

/**
 * chosenOf returns a name that the address chooses out of a list, or else the default.
 * @template {string | undefined} Default
 * @param {URLSearchParams} query
 * @param {string} parameter
 * @param {string[]} names
 * @param {Default} otherwise
 */
export function chosenOf(query, parameter, names, otherwise) {
  const chosen = query.get(parameter);
  return chosen !== null && names.includes(chosen) ? chosen : otherwise;
}

/**
 * metricOf returns the metric that the address chooses.
 * @param {URLSearchParams} query
 * @param {Schema} schema
 */
export const metricOf = (query, schema) =>
  chosenOf(query, "metric", schema.metrics, schema.mainMetric);

/**
 * distinguishing returns the places of the parameters that tell groups apart to a reader.
 * @param {string[]} by
 * @param {Schema} schema
 */
export function distinguishing(by, schema) {
  const all = by.map((_, place) => place);
  const own = all.filter((place) => schema.varying.includes(by[place]));
  return own.length ? own : all;
}

/**
 * groupNames names groups by the values in which they differ.
 * @param {string[]} by
 * @param {Schema} schema
 * @param {Scalar[][]} groups the values of each
 */
export function groupNames(by, schema, groups) {
  if (by.length === 0) return groups.map(() => "all trials");
  const all = distinguishing(by, schema);
  const differing = all.filter((place) => groups.some((g) => g[place] !== groups[0][place]));
  const places = differing.length ? differing : all;
  return groups.map((values) =>
    places
      .map((place) => [by[place], values[place]])
      .map(([name, value]) => `${name} ${value === null ? "none" : number(value)}`)
      .join(", "),
  );
}
