// A check box whose value stands in the address.
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

export function Check({ label, name, value }) {
  return html`<label>
    <input
      type="checkbox"
      checked=${value}
      onChange=${(e) => changeRoute({ [name]: e.target.checked ? "1" : null }, true)}
    />${" "}
    ${label}
  </label>`;
}
