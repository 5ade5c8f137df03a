// The sweep file with its extensions, and the dialog that extends it.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { Problem } from "../components/problem.mjs";
import { count, counted, dateTime, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { post, session } from "../lib/request.mjs";

/** @import { Sweep } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

/** @param {ViewProps} props */
export function File({ sweep }) {
  const { by, goal } = sweep.select;
  const facts = {
    trainer: sweep.trainer,
    pool: sweep.pool,
    priority: number(sweep.priority),
    created: dateTime(sweep.created_at),
    "best by": by ? `${by}, ${goal || "minimize"}` : "not set",
  };
  return html`
    ${session.value.extends && html`<${Extend} sweep=${sweep} />`}
    <dl class="stats">
      ${Object.entries(facts).map(
        ([name, value]) => html`<div key=${name}>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
      )}
    </dl>
    ${sweep.grids.map(
      (grid, i) => html`
        <h2 key=${i}>
          ${i === 0 ? "Sweep file" : "Extension " + i}: ${counted(grid.points, "trial")} from${" "}
          index ${count(grid.first)}
        </h2>
        <pre tabindex="0" aria-label="Sweep file">${grid.source || "not stored"}</pre>
      `,
    )}
  `;
}

/**
 * Extend adds the grid points of an edited sweep file.
 * @param {{sweep: Sweep}} props
 */
function Extend({ sweep }) {
  const [open, setOpen] = useState(false);
  return html`
    <p class="controls"><button onClick=${() => setOpen(true)}>Extend …</button></p>
    ${
      open &&
      html`<${Dialog} title="Extend the sweep" close=${() => setOpen(false)}>
        <${ExtendForm} sweep=${sweep} />
      <//>`
    }
  `;
}

/** @param {{sweep: Sweep}} props */
function ExtendForm({ sweep }) {
  const [added, setAdded] = useState(/** @type {number | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const { source } = sweep.grids[sweep.grids.length - 1];
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    const body = { source: new FormData(event.target).get("source") };
    try {
      setAdded((await post(`sweeps/${sweep.id}/extend`, body)).points);
    } catch (thrown) {
      setError(/** @type {Error} */ (thrown));
    }
  };
  if (added !== null)
    return html`<p role="status">
      ${counted(added, "trial")} added. Grid points that already have a result are not run again.
    </p>`;
  if (!session.value.acts)
    return html`<p>This needs a token with permission to change sweeps. Sign in first.</p>`;
  return html`<form onSubmit=${submit}>
    <${Problem} error=${error} />
    <p>
      Add values to the file. The new grid points are added to the sweep; grid points that already
      have a result are not run again.
    </p>
    <p>
      <label>
        Sweep file
        <br />
        <textarea
          name="source"
          rows="16"
          cols="76"
          class="mono"
          spellcheck="false"
          defaultValue=${source}
        >
          ${source}
        </textarea>
      </label>
    </p>
    <p class="controls"><button class="primary">Extend the sweep</button></p>
  </form>`;
}
