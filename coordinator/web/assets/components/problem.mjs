// An error, in words.
import { html } from "../lib/html.mjs";

/**
 * @param {object} props
 * @param {Error | null} props.error
 */
export const Problem = ({ error }) =>
  error && html`<p class="note error" role="alert">${error.message}</p>`;
