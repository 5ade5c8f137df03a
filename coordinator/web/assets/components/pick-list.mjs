// A list of check boxes that folds out.
import { html } from "../lib/html.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @param {object} props
 * @param {string} props.summary
 * @param {Element | Element[]} props.children
 */
export function PickList({ summary, children }) {
  return html`<details class="pick">
    <summary>${summary}</summary>
    <div>${children}</div>
  </details>`;
}

/**
 * PickBoxes has a check box for each name.
 * @param {object} props
 * @param {string[]} props.names
 * @param {string[]} props.chosen
 * @param {(chosen: string[]) => void} props.choose
 */
export function PickBoxes({ names, chosen, choose }) {
  return html`${names.map(
    (name) => html`<label key=${name}>
      <input
        type="checkbox"
        checked=${chosen.includes(name)}
        onChange=${() => choose(toggled(chosen, name))}
      />
      ${name}
    </label>`,
  )}`;
}

/**
 * toggled returns a list without a name that it has, or with one that it has not.
 * @template {string} Name
 * @param {Name[]} list
 * @param {Name} name
 */
export const toggled = (list, name) =>
  list.includes(name) ? list.filter((one) => one !== name) : [...list, name];
