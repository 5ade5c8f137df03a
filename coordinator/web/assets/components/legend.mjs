// The legend of a plot.
import { html } from "../lib/html.mjs";

export function Legend({ items }) {
  return html`<ul class="legend">
    ${items.map(
      (s, i) => html`<li key=${i}>
        <svg aria-hidden="true" viewBox="0 0 22 12">
          <line
            x1="0"
            y1="6"
            x2="22"
            y2="6"
            stroke=${s.stroke}
            stroke-width="3"
            stroke-dasharray=${(s.dash || []).join(" ")}
          />
        </svg>
        <span>${s.label}</span>
      </li>`,
    )}
  </ul>`;
}
