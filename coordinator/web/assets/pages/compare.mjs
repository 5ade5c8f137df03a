// Sweeps side by side, with the parameters in which they differ.
import { Choice } from "../components/choice.mjs";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { Reading } from "../components/reading.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { count, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";

export function Compare() {
  const { query } = route.value;
  const chosen = query.getAll("sweep");
  const version = useVersion("all");
  const { answer: all } = useAnswer("sweeps", { limit: 100 });
  const { answer, error } = useAnswer(
    chosen.length ? "compare" : null,
    { sweep: chosen, metric: query.get("metric") || "" },
    version,
  );
  const metrics = answer ? answer.metrics : [];
  const metric = query.get("metric") || "";
  if (answer && !metric && metrics.length)
    setTimeout(
      () => changeRoute({ metric: metrics.find((m) => m.includes("loss")) || metrics[0] }),
      0,
    );
  return html`
    <h1>Compare sweeps</h1>
    <div class="controls">
      <details class="pick">
        <summary>Sweeps (${chosen.length})</summary>
        <div>
          ${
            all &&
            all.sweeps.map(
              (s) => html`<label key=${s.id}>
                <input
                  type="checkbox"
                  checked=${chosen.includes(s.id)}
                  disabled=${!chosen.includes(s.id) && chosen.length >= 8}
                  onChange=${(e) =>
                    changeRoute({
                      sweep: e.target.checked
                        ? [...chosen, s.id]
                        : chosen.filter((x) => x !== s.id),
                    })}
                />
                ${s.name} <span class="quiet mono">${s.id}</span>
              </label>`,
            )
          }
          ${
            all &&
            all.total > all.sweeps.length &&
            html`<p class="quiet">The newest ${all.sweeps.length} of ${count(all.total)}.</p>`
          }
        </div>
      </details>
      ${
        metrics.length > 0 &&
        html`<${Choice} label="Metric" name="metric" value=${metric} options=${metrics} />`
      }
    </div>
    <${Problem} error=${error} />
    ${chosen.length === 0 && html`<p>Choose up to eight sweeps.</p>`}
    ${chosen.length > 0 && !answer && !error && html`<${Loading} />`}
    ${
      answer &&
      html`
        ${answer.sweeps.map((s) => html`<${Reading} key=${s.id} read=${s.read} />`)}
        <div class="scroll">
          <table>
            <caption class="visually-hidden">Sweeps beside each other</caption>
            <thead>
              <tr>
                <th scope="col"><span class="visually-hidden">Of</span></th>
                ${answer.sweeps.map(
                  (s) => html`<th key=${s.id} scope="col">
                    <a href=${hrefOf(["sweep", s.id])}>${s.name}</a>
                    <br />
                    <span class="quiet mono">${s.id}</span>
                  </th>`,
                )}
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">state</th>
                ${answer.sweeps.map(
                  (s) => html`<td key=${s.id}><${State} state=${s.state} /></td>`,
                )}
              </tr>
              <tr>
                <th scope="row">progress</th>
                ${answer.sweeps.map(
                  (s) => html`<td key=${s.id}><${Progress} progress=${s.progress} /></td>`,
                )}
              </tr>
              <tr>
                <th scope="row">trials</th>
                ${answer.sweeps.map((s) => html`<td key=${s.id}>${count(s.points)}</td>`)}
              </tr>
              <tr>
                <th scope="row">failed, diverged</th>
                ${answer.sweeps.map(
                  (s) => html`<td key=${s.id}>
                    ${count(s.progress.failed)}, ${count(s.progress.diverged)}
                  </td>`,
                )}
              </tr>
              <tr>
                <th scope="row">${metric || "metric"}: best</th>
                ${answer.sweeps.map(
                  (s) => html`<td key=${s.id}>
                    ${
                      s.metric && s.metric.best >= 0
                        ? html`<a href=${hrefOf(["trial", s.id, s.metric.best])}>
                          ${number(s.goal === "maximize" ? s.metric.max : s.metric.min, 6)}
                        </a>`
                        : html`<span class="none">none</span>`
                    }
                  </td>`,
                )}
              </tr>
              <tr>
                <th scope="row">${metric || "metric"}: mean ± sd</th>
                ${answer.sweeps.map(
                  (s) => html`<td key=${s.id}>
                    ${
                      s.metric && s.metric.mean !== null
                        ? `${number(s.metric.mean, 5)} ± ${s.metric.sd === null ? "?" : number(s.metric.sd, 2)} (${count(s.metric.n)})`
                        : html`<span class="none">none</span>`
                    }
                  </td>`,
                )}
              </tr>
              ${answer.differing.map(
                (name, i) => html`<tr key=${name} class=${i === 0 ? "rule" : ""}>
                  <th scope="row">${name}</th>
                  ${answer.sweeps.map(
                    (s) => html`<td key=${s.id} class="wrap">${valueList(s.values[name])}</td>`,
                  )}
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
        <p class="quiet">
          ${
            answer.sweeps.length < 2
              ? "Choose a second sweep."
              : `They differ in ${answer.differing.length} of ${answer.parameters} parameters; the others are the same and not listed.`
          }
        </p>
      `
    }
  `;
}

function valueList(list) {
  if (!list) return html`<span class="none">none</span>`;
  const shown = list
    .slice(0, 12)
    .map((v) => (v === null ? "none" : number(v, 6)))
    .join(", ");
  return list.length > 12 ? `${shown} and ${list.length - 12} others` : shown;
}
