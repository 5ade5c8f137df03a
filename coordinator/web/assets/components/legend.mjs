// The legend of a plot.
import { html } from "../lib/html.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @param {object} props
 * @param {{label: Element, stroke: string, dash: number[]}[]} props.items
 */
export function Legend({ items }) {
  return html`<ul class="legend">
    ${items.map(
      ({ label, stroke, dash }, i) => html`<li key=${i}>
        <svg aria-hidden="true" viewBox="0 0 22 12">
          <line
            x1="0"
            y1="6"
            x2="22"
            y2="6"
            stroke=${stroke}
            stroke-width="3"
            stroke-dasharray=${dash.join(" ")}
          />
        </svg>
        <span>${label}</span>
      </li>`,
    )}
  </ul>`;
}
