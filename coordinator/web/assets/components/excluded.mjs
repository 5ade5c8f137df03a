// The trials of a group that are not in its mean, by state.
import { State } from "./state.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

export function Excluded({ states, n }) {
  const left = Object.entries(states).filter(([s]) => s !== "completed");
  const silent = (states.completed || 0) - n;
  if (!left.length && !silent) return html`<span class="none">–</span>`;
  return html`
    ${left.map(
      ([s, k]) => html`<span key=${s}>
        <${State} state=${s} /> ${count(k)}${" "}
      </span>`,
    )}
    ${silent > 0 && html`<span class="state failed">NaN or none ${count(silent)}</span>`}
  `;
}
