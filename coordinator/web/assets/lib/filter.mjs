// The filter of trials, as the address and requests have it.

// whereText writes a value as a condition of the filter takes it; texts that look
// like something else are quoted.
export function whereText(v) {
  if (v === null) return "null";
  if (typeof v !== "string") return JSON.stringify(v);
  try {
    JSON.parse(v);
    return JSON.stringify(v);
  } catch {
    return v;
  }
}

// filterOf is the filter of the address, as requests have it.
export function filterOf(query) {
  return { state: query.getAll("state"), where: query.getAll("where") };
}
