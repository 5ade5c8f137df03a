// A check box whose value stands in the address.
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string} props.name the parameter of the address
 * @param {boolean} props.value
 */
export function Check({ label, name, value }) {
  return html`<label>
    <input
      type="checkbox"
      checked=${value}
      onChange=${(e) => changeRoute({ [name]: e.target.checked }, true)}
    />${" "}
    ${label}
  </label>`;
}
