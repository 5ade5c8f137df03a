// The bar of a sweep's progress.
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { partsOf, states } from "../lib/states.mjs";

export function Progress({ progress }) {
  const parts = partsOf(progress);
  const total = Math.max(
    1,
    Object.values(parts).reduce((a, b) => a + b, 0),
  );
  const label =
    states
      .filter((s) => parts[s] > 0)
      .map((s) => `${count(parts[s])} ${s}`)
      .join(", ") || "no trials";
  let at = 0;
  return html`<div class="progress" role="img" aria-label=${label} title=${label}>
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      ${states
        .filter((s) => s !== "pending")
        .map((s) => {
          const x = at;
          const w = (parts[s] / total) * 1000;
          at += w;
          return (
            w > 0 &&
            html`<rect
              key=${s}
              x=${x}
              y="0"
              width=${Math.max(w, 2)}
              height="10"
              fill=${`var(--bar-${s})`}
            />`
          );
        })}
    </svg>
  </div>`;
}
