// The trials of a group that its mean excludes, by state.
import { State } from "./state.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

/** @import { StateCounts } from "../../api" */

/**
 * @param {object} props
 * @param {StateCounts} props.states
 * @param {number} props.n how many trials are in the mean
 */
export function Excluded({ states, n }) {
  const others = Object.entries(states).filter(([state]) => state !== "completed");
  const withoutValue = (states.completed || 0) - n;
  if (!others.length && !withoutValue) return html`<span class="none">–</span>`;
  return html`
    ${others.map(
      ([state, trials]) => html`<span key=${state}>
        <${State} state=${state} /> ${count(trials)}${" "}
      </span>`,
    )}
    ${
      withoutValue > 0 && html`<span class="state failed">NaN or none ${count(withoutValue)}</span>`
    }
  `;
}
