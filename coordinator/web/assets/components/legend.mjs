// The legend of a plot: an item lights its lines, and has their value under the cursor.
import { useState } from "preact/hooks";
import { html } from "../lib/html.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @typedef {object} Item
 * @property {string} name
 * @property {Element | string} [detail]
 * @property {string} value under the cursor
 * @property {string} stroke
 * @property {number[]} dash
 */

/**
 * @param {object} props
 * @param {Item[]} props.items
 * @param {(item: number | null) => void} props.light lights the lines of an item, or all
 */
export function Legend({ items, light }) {
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  /** @param {number} i */
  const choose = (i) => {
    const next = chosen === i ? null : i;
    setChosen(next);
    light(next);
  };
  return html`<ul class="legend">
    ${items.map(
      ({ name, detail, value, stroke, dash }, i) => html`<li key=${i}>
        <button
          class="plain"
          aria-pressed=${chosen === i}
          onClick=${() => choose(i)}
          onMouseEnter=${() => light(i)}
          onMouseLeave=${() => light(chosen)}
          onFocus=${() => light(i)}
          onBlur=${() => light(chosen)}
        >
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
          <span>${name}</span>
        </button>
        ${detail && html`<span class="quiet">${detail}</span>`}
        <span class="mono value">${value}</span>
      </li>`,
    )}
  </ul>`;
}
