// The SQL statement behind the list of trials.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { html } from "../lib/html.mjs";
import { request } from "../lib/request.mjs";

function copyText(text) {
  return navigator.clipboard
    ? navigator.clipboard.writeText(text)
    : Promise.reject(new Error("the clipboard is closed to pages that came over plain HTTP"));
}

// SQL shows the statement behind the list.
export function SQL({ id, values }) {
  const [text, set] = useState(null);
  const [told, tell] = useState("");
  const show = async () => {
    try {
      const { sql } = await request(`sweeps/${id}/sql`, values);
      set(sql);
      await copyText(sql).then(
        () => tell("Copied."),
        () => tell("Select it to copy it."),
      );
    } catch (error) {
      set(error.message);
    }
  };
  return html`
    <button onClick=${show}>Copy as SQL</button>
    ${
      text !== null &&
      html`<${Dialog} title="The list as SQL" close=${() => set(null)}>
        <p role="status">
          ${told} <code>sweep sql</code> and every client of the database take it.
        </p>
        <pre tabindex="0">${text}</pre>
      <//>`
    }
  `;
}
