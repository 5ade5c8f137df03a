// A note while an answer covers less than all trials.
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

/** @import { Read } from "../../api" */

/**
 * @param {object} props
 * @param {Read | null} [props.read]
 */
export function Reading({ read }) {
  if (!read || (read.complete && read.trials >= read.of)) return null;
  if (!read.complete)
    return html`<p class="note" role="status">
      Trials are being read: ${count(read.trials)} of ${count(read.of)} so far. What is shown is
      about these.
    </p>`;
  return html`<p class="note" role="status">
    ${count(read.trials)} of ${count(read.of)} trials have begun to be written; the others are
    pending and have no row yet.
  </p>`;
}
