// What the views of a sweep know of its parameters and metrics.

// distinguishing are the places of the parameters that tell groups apart to a reader; those
// with one value where they are there at all follow from the others.
export function distinguishing(by, schema) {
  const all = by.map((_, k) => k);
  const several = all.filter((k) => (schema.byName[by[k]] || {}).distinct !== 1);
  return several.length ? several : all;
}

export const metricOf = (query, schema) =>
  schema.metrics.includes(query.get("metric")) ? query.get("metric") : schema.first;

// schemaOf gathers what the views need to know of a sweep's columns. While trials are
// being read, what the sweep file varies counts as varying: columns then stay.
export function schemaOf(sweep, columns, reading) {
  const metrics = columns.filter((c) => c.kind === "metric").map((c) => c.name);
  const goals = {};
  for (const m of sweep.metrics) if (m.goal) goals[m.name] = m.goal;
  if (sweep.select.by && sweep.select.goal) goals[sweep.select.by] = sweep.select.goal;
  // What has one value where it is there at all follows from other parameters.
  const several = new Set(
    reading
      ? sweep.grids.flatMap((g) => g.axes.filter((a) => a.length > 1).flatMap((a) => a.names))
      : [],
  );
  const varying = columns
    .filter(
      (c) => c.kind === "parameter" && (several.has(c.name) || (c.varies && c.distinct !== 1)),
    )
    .map((c) => c.name);
  const first =
    [sweep.select.by, ...sweep.metrics.filter((m) => m.goal).map((m) => m.name), ...metrics].find(
      (m) => metrics.includes(m),
    ) ||
    metrics[0] ||
    "";
  const order = [];
  for (const g of sweep.grids)
    for (const a of g.axes) for (const n of a.names) if (!order.includes(n)) order.push(n);
  varying.sort(
    (a, b) => (order.indexOf(a) + 1 || 1e9) - (order.indexOf(b) + 1 || 1e9) || (a < b ? -1 : 1),
  );
  return {
    columns,
    metrics,
    goals,
    varying,
    first,
    byName: Object.fromEntries(columns.map((c) => [c.name, c])),
  };
}

export const goalOf = (schema, metric) => schema.goals[metric] || "minimize";
