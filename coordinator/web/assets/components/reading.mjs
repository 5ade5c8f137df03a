// A note while an answer covers less than all trials.
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

/** @import { Read } from "../../api" */

/**
 * @param {object} props
 * @param {Read | null} [props.read]
 */
export function Reading({ read }) {
  if (!read || read.trials >= read.of) return null; // of a sweep that runs they are read again
  if (!read.complete)
    return html`<p class="note" role="status">
      Reading trials: ${count(read.trials)} of ${count(read.of)} so far. This page covers only
      those.
    </p>`;
  return html`<p class="note" role="status">
    ${count(read.trials)} of ${count(read.of)} trials have a row in the database; the others are
    pending.
  </p>`;
}
