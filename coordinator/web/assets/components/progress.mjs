// The bar of a sweep's progress.
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { partsOf, states } from "../lib/states.mjs";

/** @typedef {import("../../api").Progress} SweepProgress */

/**
 * @param {object} props
 * @param {SweepProgress} props.progress
 */
export function Progress({ progress }) {
  const parts = partsOf(progress);
  const present = states.filter((state) => parts[state] > 0);
  const total = present.reduce((sum, state) => sum + parts[state], 0);
  const label = present.map((state) => `${count(parts[state])} ${state}`).join(", ") || "no trials";
  let end = 0;
  return html`<div class="progress" role="img" aria-label=${label} title=${label}>
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      ${present
        .filter((state) => state !== "pending")
        .map((state) => {
          const x = end;
          const width = (parts[state] / total) * 1000;
          end += width;
          return html`<rect
            key=${state}
            x=${x}
            y="0"
            width=${Math.max(width, 2)}
            height="10"
            fill=${`var(--bar-${state})`}
          />`;
        })}
    </svg>
  </div>`;
}
