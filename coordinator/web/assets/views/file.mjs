// The sweep file with its extensions, and the dialog that extends it.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { Problem } from "../components/problem.mjs";
import { count, dateTime, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { post, session } from "../lib/request.mjs";

// Extend adds the points of an edited sweep file.
function Extend({ sweep }) {
  const [open, set] = useState(false);
  const [done, told] = useState(null);
  const [failed, fail] = useState(null);
  const last = sweep.grids[sweep.grids.length - 1].source;
  const submit = async (e) => {
    e.preventDefault();
    fail(null);
    try {
      told(
        await post(`sweeps/${sweep.id}/extend`, {
          source: new FormData(e.target).get("source"),
        }),
      );
    } catch (error) {
      fail(error);
    }
  };
  return html`
    <p class="controls">
      <button
        onClick=${() => {
          set(true);
          told(null);
          fail(null);
        }}
      >
        Extend …
      </button>
    </p>
    ${
      open &&
      html`<${Dialog} title="Extend the sweep" close=${() => set(false)}>
        <${Problem} error=${failed} />
        ${
          done
            ? html`<p role="status">
              ${count(done.points)} points were added; those that have results are not
              trained again.
            </p>`
            : !session.value.acts
              ? html`<p>This needs a token that may act: sign in first.</p>`
              : html`<form onSubmit=${submit}>
                <p>
                  Give the file further values. Its points are added to the sweep; those that
                  it has results for are not trained again.
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
                      defaultValue=${last}
                    >
                      ${last}
                    </textarea>
                  </label>
                </p>
                <p class="controls"><button class="primary">Extend the sweep</button></p>
              </form>`
        }
      <//>`
    }
  `;
}

export function File({ sweep }) {
  return html`
    ${session.value.extends && html`<${Extend} sweep=${sweep} />`}
    <dl class="stats">
      <div>
        <dt>trainer</dt>
        <dd>${sweep.trainer}</dd>
      </div>
      <div>
        <dt>pool</dt>
        <dd>${sweep.pool}</dd>
      </div>
      <div>
        <dt>priority</dt>
        <dd>${number(sweep.priority)}</dd>
      </div>
      <div>
        <dt>made</dt>
        <dd>${dateTime(sweep.created_at)}</dd>
      </div>
      <div>
        <dt>compared by</dt>
        <dd>
          ${sweep.select.by ? `${sweep.select.by}, ${sweep.select.goal || "minimize"}` : "nothing"}
        </dd>
      </div>
    </dl>
    ${sweep.grids.map(
      (g, i) => html`
        <h2 key=${i}>
          ${i === 0 ? "Sweep file" : "Extension " + i}: ${count(g.points)} trials from${" "}
          ${count(g.first)} on
        </h2>
        <pre tabindex="0" aria-label="Sweep file">${g.source || "none was kept"}</pre>
      `,
    )}
  `;
}
