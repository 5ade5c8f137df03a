// The steps of several curves, merged.

/**
 * axisOf merges the steps of several curves. Its function over lays values at some of the
 * steps out over all of them.
 * @param {(number[] | null)[]} lists
 */
export function axisOf(lists) {
  const xs = [...new Set(lists.flatMap((steps) => steps || []))].sort((a, b) => a - b);
  const places = new Map(xs.map((step, place) => [step, place]));
  /**
   * @param {number[] | null} steps
   * @param {(number | null)[]} values
   */
  const over = (steps, values) => {
    /** @type {(number | null | undefined)[]} */
    const all = new Array(xs.length).fill(undefined);
    for (const [i, step] of (steps || []).entries()) all[places.get(step) ?? 0] = values[i];
    return all;
  };
  return { xs, over };
}
