// A parameter, metric or figure in a table.
import { exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

// Value shows a value, and says what a missing one means: never 0.
export function Value({ value, state, kind }) {
  if (value === null || value === undefined) {
    if (kind === "metric" && state === "completed")
      return html`<span class="none" title="not reported, or NaN or infinite">NaN or none</span>`;
    if (kind === "metric" && (state === "failed" || state === "diverged"))
      return html`<span class="none">${state}</span>`;
    return html`<span class="none" title="none">
      –
    </span>`;
  }
  return html`<span title=${exact(value)}>${number(value, kind === "metric" ? 5 : 6)}</span>`;
}
