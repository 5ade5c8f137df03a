// Tags as chips, each a link to what else has it.
import { html } from "../lib/html.mjs";

/**
 * @param {object} props
 * @param {string[]} [props.tags]
 * @param {(tag: string) => string} props.hrefOf the address of what has a tag
 */
export const Tags = ({ tags = [], hrefOf }) =>
  html`<span class="chips">
    ${tags.map((tag) => html`<a class="chip" key=${tag} href=${hrefOf(tag)}>${tag}</a>`)}
  </span>`;
