// A link that downloads what the server answers.
import { html } from "../lib/html.mjs";

/**
 * Download saves the answer of an address as a file. An error of the server goes to failed, in
 * place of a broken file.
 * @param {object} props
 * @param {string} props.address
 * @param {string} props.name the file's
 * @param {string} props.label
 * @param {(error: Error | null) => void} props.failed
 */
export function Download({ address, name, label, failed }) {
  /** @param {Event} event */
  const onClick = (event) => {
    event.preventDefault();
    failed(null);
    save(address, name).catch(failed);
  };
  return html`<a href=${address} download onClick=${onClick}>${label}</a>`;
}

/**
 * @param {string} address
 * @param {string} name
 */
async function save(address, name) {
  const response = await fetch(address);
  if (!response.ok) throw new Error((await response.json()).error);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
