// A modal dialog, which Escape closes.
import { useEffect, useRef } from "preact/hooks";
import { html } from "../lib/html.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @param {object} props
 * @param {string} props.title
 * @param {() => void} props.close called once it is closed
 * @param {Element | Element[]} props.children
 */
export function Dialog({ title, close, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${close} aria-label=${title}>
    <h2>${title}</h2>
    ${children}
    <p class="controls"><button onClick=${() => dialog.current?.close()}>Close</button></p>
  </dialog>`;
}
