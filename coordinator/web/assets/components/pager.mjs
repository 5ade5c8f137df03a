// Which part of a list is shown, with buttons to the others.
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

// Pager says which part of a list is shown, and leads to the others.
export function Pager({ offset, total, size, what, name = "offset" }) {
  if (total === 0) return null;
  const to = (at) => changeRoute({ [name]: at || null }, true);
  return html`<p class="controls">
    <button disabled=${offset === 0} onClick=${() => to(Math.max(0, offset - size))}>
      Previous
    </button>
    <span role="status">
      ${count(Math.min(offset + 1, total))} to ${count(Math.min(offset + size, total))} of${" "}
      ${count(total)} ${what}
    </span>
    <button disabled=${offset + size >= total} onClick=${() => to(offset + size)}>
      Next
    </button>
  </p>`;
}
