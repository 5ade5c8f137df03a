// A hook: the current link of a row that scrolls sideways, as on a phone, is in view.
import { useEffect, useRef } from "preact/hooks";

/**
 * useCurrentInView returns a reference for the row.
 * @param {string} current what the current link belongs to
 */
export function useCurrentInView(current) {
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const link = row.current?.querySelector("[aria-current]");
    if (!row.current || !link) return;
    const [outer, inner] = [row.current, link].map((one) => one.getBoundingClientRect());
    row.current.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
  }, [current]);
  return row;
}
