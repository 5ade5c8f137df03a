// An error, in words.
import { html } from "../lib/html.mjs";

export const Problem = ({ error }) =>
  error ? html`<p class="note error" role="alert">${error.message}</p>` : null;
