// Views of sweeps under names, kept in this browser. A view is its address.
import { signal } from "@preact/signals";

/** @typedef {{name: string, href: string}} View */

const storageKey = "sweep-views";

function stored() {
  try {
    return JSON.parse(localStorage.getItem(storageKey) || "{}");
  } catch {
    return {}; // the browser stores nothing, or something else
  }
}

/** The saved views by the id of their sweep. */
export const savedViews = signal(/** @type {Record<string, View[]>} */ (stored()));

/**
 * saveViews replaces the views of a sweep. It reports whether the browser keeps them.
 * @param {string} sweep
 * @param {View[]} views
 */
export function saveViews(sweep, views) {
  // another page may have saved some since
  savedViews.value = { ...stored(), [sweep]: views };
  try {
    localStorage.setItem(storageKey, JSON.stringify(savedViews.value));
    return true;
  } catch {
    return false;
  }
}
