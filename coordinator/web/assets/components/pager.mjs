// Which part of a list is shown, with buttons to the others.
import { count, counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

/**
 * @param {object} props
 * @param {number} props.offset
 * @param {number} props.total
 * @param {number} props.size of a page of the list
 * @param {string} props.what a thing of the list, in the singular
 */
export function Pager({ offset, total, size, what }) {
  if (total === 0) return null;
  const last = Math.min(offset + size, total);
  /** @param {number} offset */
  const show = (offset) => changeRoute({ offset: offset || null }, true);
  return html`<p class="controls">
    <button disabled=${offset === 0} onClick=${() => show(Math.max(0, offset - size))}>
      Previous
    </button>
    <span role="status">
      ${count(Math.min(offset + 1, total))} to ${count(last)} of ${counted(total, what)}
    </span>
    <button disabled=${offset + size >= total} onClick=${() => show(offset + size)}>Next</button>
  </p>`;
}
