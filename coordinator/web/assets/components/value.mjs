// A parameter, metric or figure in a table.
import { exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

/** @import { Column, Scalar, TrialState } from "../../api" */

const digits = { parameter: 6, metric: 5, figure: 3 };

/**
 * Value says why there is no value: it is never shown as 0.
 * @param {object} props
 * @param {Scalar} [props.value]
 * @param {TrialState} [props.state] the trial's
 * @param {Column["kind"]} [props.kind]
 */
export function Value({ value, state, kind }) {
  if (value !== null && value !== undefined)
    return html`<span title=${exact(value)}>${number(value, digits[kind || "parameter"])}</span>`;
  if (kind === "metric" && state === "completed")
    return html`<span class="none" title="not reported, NaN or infinite">NaN or none</span>`;
  if (kind === "metric" && (state === "failed" || state === "diverged"))
    return html`<span class="none">${state}</span>`;
  return html`<span class="none" title="none">–</span>`;
}

/** None stands where a table has no value. */
export const None = () => html`<span class="none">none</span>`;
