// What is known of an answer besides its content: an error, or how far it has come.
import { Loading } from "./loading.mjs";
import { Problem } from "./problem.mjs";
import { Reading } from "./reading.mjs";
import { html } from "../lib/html.mjs";

/** @import { Read } from "../../api" */

/**
 * @param {object} props
 * @param {{read?: Read} | null} props.answer
 * @param {Error | null} props.error
 */
export const Status = ({ answer, error }) => html`
  <${Problem} error=${error} />
  <${Reading} read=${answer && answer.read} />
  ${!answer && !error && html`<${Loading} />`}
`;
