// A list of names whose choice stands in the address.
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

// Choice is a labelled list of names that stands in the address.
export function Choice({ label, name, value, options, values }) {
  return html`<label>
    ${label}${" "}
    <select
      value=${value}
      onChange=${(e) => changeRoute({ [name]: e.target.value, offset: null }, true)}
    >
      ${options.map((o, i) => html`<option key=${o} value=${values ? values[i] : o}>${o}</option>`)}
    </select>
  </label>`;
}
