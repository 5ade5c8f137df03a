// A modal dialog.
import { useEffect, useRef } from "preact/hooks";
import { html } from "../lib/html.mjs";

// Dialog is a modal one, which Escape closes.
export function Dialog({ title, close, children }) {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return html`<dialog ref=${ref} onClose=${close} aria-label=${title}>
    <h2>${title}</h2>
    ${children}
    <p class="controls"><button onClick=${() => ref.current.close()}>Close</button></p>
  </dialog>`;
}
