// A list of names whose choice stands in the address.
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string} props.name the parameter of the address
 * @param {string} props.value
 * @param {string[]} props.options
 * @param {string[]} [props.values] the options in the address, if they are others
 */
export function Choice({ label, name, value, options, values = options }) {
  return html`<label>
    ${label}${" "}
    <select
      value=${value}
      onChange=${(e) => changeRoute({ [name]: e.target.value, offset: null }, true)}
    >
      ${options.map(
        (option, i) => html`<option key=${option} value=${values[i]}>${option}</option>`,
      )}
    </select>
  </label>`;
}
