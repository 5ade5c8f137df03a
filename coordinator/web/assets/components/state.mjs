// The state of a trial, sweep or worker, as a symbol and a word.
import { html } from "../lib/html.mjs";
import { symbols } from "../lib/states.mjs";

/**
 * @param {object} props
 * @param {string} props.state
 */
export const State = ({ state }) =>
  html`<span class=${"state " + state}>
    <span aria-hidden="true">${symbols[state] || "•"}</span>
    ${state}
  </span>`;
