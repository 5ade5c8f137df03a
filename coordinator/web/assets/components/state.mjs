// The state of a trial, sweep or worker, as a symbol and words.
import { html } from "../lib/html.mjs";
import { outcomeOf, symbols } from "../lib/states.mjs";

/** @import { SweepItem } from "../../api" */

/**
 * @param {object} props
 * @param {string} props.state
 * @param {string} [props.text] in place of the state's name
 */
export const State = ({ state, text = state }) =>
  html`<span class=${"state " + state}>
    <span aria-hidden="true">${symbols[state] || "•"}</span>
    ${text}
  </span>`;

/** @param {{sweep: SweepItem}} props */
export function Outcome({ sweep }) {
  const { look, text } = outcomeOf(sweep.state, sweep.progress);
  return html`<${State} state=${look} text=${text} />`;
}
