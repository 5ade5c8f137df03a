// What is shown until the first answer arrives.
import { html } from "../lib/html.mjs";

export const Loading = () => html`<p class="quiet" role="status">Loading…</p>`;
