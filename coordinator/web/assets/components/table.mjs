// A table with its head, which scrolls sideways where it is too wide.
import { html } from "../lib/html.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @param {object} props
 * @param {string} props.label what the table shows, for screen readers
 * @param {(string | Element | null)[]} props.columns names of columns, or their head cells
 * @param {boolean} [props.busy] whether newer rows are on their way
 * @param {Element[]} props.children the rows
 */
export function Table({ label, columns, busy, children }) {
  return html`<div class="scroll" aria-busy=${busy}>
    <table aria-label=${label}>
      <thead>
        <tr>
          ${columns.map((c) =>
            typeof c === "string" ? html`<th key=${c} scope="col">${c}</th>` : c,
          )}
        </tr>
      </thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;
}

/**
 * numeric is the head of a column of numbers.
 * @param {string} name
 */
export const numeric = (name) => html`<th key=${name} scope="col" class="num">${name}</th>`;

/**
 * SortHead is the head of a column by which the rows can be sorted.
 * @param {object} props
 * @param {string} props.name the column's, in the address
 * @param {string} [props.label]
 * @param {boolean} props.isNumeric
 * @param {Order} props.order
 * @param {(name: string) => void} props.sortBy
 */
export function SortHead({ name, label = name, isNumeric, order, sortBy }) {
  const sorted = order.sort === name;
  const direction = order.descending ? "descending" : "ascending";
  return html`<th
    scope="col"
    class=${isNumeric ? "num" : ""}
    aria-sort=${sorted ? direction : "none"}
  >
    <button class="plain" onClick=${() => sortBy(name)} title=${"Sort by " + name}>
      ${label}
      ${sorted ? (order.descending ? " ↓" : " ↑") : ""}
    </button>
  </th>`;
}

/** @typedef {{sort: string, descending: boolean}} Order how the rows of a table are sorted */
