// The SQL statement behind the list of trials.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { html } from "../lib/html.mjs";
import { request } from "../lib/request.mjs";

/** @import { Parameters } from "../lib/route.mjs" */

/**
 * @param {object} props
 * @param {string} props.id the sweep's
 * @param {Parameters} props.parameters of the list
 */
export function SQL({ id, parameters }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [advice, setAdvice] = useState("");
  const show = async () => {
    try {
      const { sql } = await request(`sweeps/${id}/sql`, parameters);
      setText(sql);
      setAdvice((await copied(sql)) ? "Copied." : "Select the text to copy it.");
    } catch (error) {
      setText(/** @type {Error} */ (error).message);
    }
  };
  return html`
    <button onClick=${show}>Copy as SQL</button>
    ${
      text !== null &&
      html`<${Dialog} title="This list as SQL" close=${() => setText(null)}>
        <p role="status">
          ${advice} Run it with <code>sweep sql</code> or any client of the database.
        </p>
        <pre tabindex="0">${text}</pre>
      <//>`
    }
  `;
}

/**
 * copied copies a text, if it may: pages that came over plain HTTP have no clipboard.
 * @param {string} text
 */
async function copied(text) {
  if (!navigator.clipboard) return false;
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}
