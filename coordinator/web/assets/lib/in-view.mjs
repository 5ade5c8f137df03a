// A hook: the current link of a row that scrolls sideways, as on a phone, is in view.
import { useEffect, useRef } from "preact/hooks";

/**
 * useCurrentInView returns a reference for the row.
 * @param {string} current what the current link belongs to
 */
export function useCurrentInView(current) {
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const show = () => showCurrent(row.current);
    show();
    addEventListener("resize", show); // as when a phone is turned
    return () => removeEventListener("resize", show);
  }, [current]);
  return row;
}

/** @param {HTMLElement | null} row */
function showCurrent(row) {
  const link = row?.querySelector("[aria-current]");
  if (!row || !link) return;
  const [outer, inner] = [row, link].map((one) => one.getBoundingClientRect());
  row.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}
