// The papers' tables, from the newest sweep that has rows for them.
import { useEffect, useState } from "preact/hooks";
import { Choice } from "../components/choice.mjs";
import { Problem } from "../components/problem.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { html } from "../lib/html.mjs";
import { session } from "../lib/request.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { Figures } from "./figures.mjs";

const kinds = ["ucr", "mnist", "tasks"],
  titles = ["UCR data sets (Table 4)", "pixel-MNIST (Table 2)", "other tasks"];

const needs = {
  ucr: ", of the UCR archive",
  mnist: ", of MNIST",
  tasks: ", of other data sets and tasks",
};

export function Tables() {
  const { query } = route.value;
  const kind = kinds.includes(query.get("kind")) ? query.get("kind") : "ucr";
  const votes = session.value.artifacts; // there are probabilities to be read
  const select =
    !votes && (query.get("select") || "").startsWith("ensemble")
      ? "mean"
      : query.get("select") || "mean";
  const ensemble = select.startsWith("ensemble"),
    auto = select === "ensemble:auto";
  const sweep = query.getAll("sweep");
  const version = useVersion("all");
  const [again, set] = useState(0);
  // An ensemble may take seconds: it is counted when it is asked for, not at each change.
  const { answer, error, behind } = useAnswer(
    "tables/" + kind,
    { select, sweep },
    ensemble ? "counted " + again : version,
  );
  const { answer: all } = useAnswer("sweeps", { limit: 100 });
  const [at, tell] = useState(null);
  useEffect(() => tell(new Date()), [answer]);
  const counting = ensemble && behind;
  const t = answer && answer.table;
  const best = select.split(":")[1] || "1";
  const newest =
    sweep[0] ||
    (answer && answer.sweeps[0]) ||
    (answer && all && all.sweeps[0] && all.sweeps[0].id);
  return html`
    <h1>Tables and figures of the papers</h1>
    <div class="controls">
      <${Choice} label="Table" name="kind" value=${kind} options=${titles} values=${kinds} />
      <${Choice}
        label="Of each group"
        name="select"
        value=${ensemble && !auto ? "ensemble" : select}
        options=${[
          "mean over replicates of the best point",
          "the one best trial",
          ...(votes
            ? ["the replicates' votes", "votes of as many points as validation chooses"]
            : []),
        ]}
        values=${["mean", "single", ...(votes ? ["ensemble", "ensemble:auto"] : [])]}
      />
      ${
        ensemble &&
        !auto &&
        html`<label>
          of the best${" "}
          <input
            type="number"
            min="1"
            max="99"
            value=${best}
            onChange=${(e) =>
              changeRoute(
                {
                  select: e.target.value > 1 ? "ensemble:" + e.target.value : "ensemble",
                },
                true,
              )}
          />${" "}
          points
        </label>`
      }
      ${
        ensemble &&
        html`<button disabled=${counting} onClick=${() => set(again + 1)}>
          Count again
        </button>`
      }
      ${
        all &&
        html`<label>
          Sweep${" "}
          <select
            value=${sweep[0] || ""}
            onChange=${(e) => changeRoute({ sweep: e.target.value || null }, true)}
          >
            <option value="">the newest with rows</option>
            ${all.sweeps.map(
              (s) => html`<option key=${s.id} value=${s.id}>${s.name} ${s.id}</option>`,
            )}
          </select>
        </label>`
      }
    </div>
    ${
      counting
        ? html`<p class="note" role="status">
          The votes are being counted: the class probabilities of every replicate are read,
          which takes seconds where there are many. Other pages answer meanwhile.
        </p>`
        : error
          ? html`<${Problem} error=${error} />`
          : !answer
            ? html`<${Loading} />`
            : !t
              ? html`<p>
                No completed trial belongs into this table: its rows are of trials with the
                parameters <code>dataset</code> and <code>model</code>
                ${needs[kind]}.
              </p>`
              : html`
                <p class="quiet">
                  ${t.title}. From${" "}
                  ${answer.sweeps.map(
                    (id, i) => html`
                      ${i > 0 ? ", " : ""}
                      <a key=${id} href=${hrefOf(["sweep", id])} class="mono">${id}</a>
                    `,
                  )}
                  . Bold is what the paper would print bold.
                  ${ensemble && at ? ` Counted at ${at.toLocaleTimeString("en-GB")}.` : ""}
                </p>
                <div class="scroll">
                  <table>
                    <caption class="visually-hidden">${t.title}</caption>
                    <thead>
                      <tr>
                        ${t.columns.map(
                          (c, i) => html`<th key=${i} scope="col" class=${c.Right ? "num" : ""}>
                            ${
                              c.Name ||
                              html`<span class="visually-hidden">${i === 0 ? "row" : "remark"}</span>`
                            }
                          </th>`,
                        )}
                      </tr>
                    </thead>
                    <tbody>
                      ${t.rows.map(
                        (
                          row,
                          i,
                        ) => html`<tr key=${i} class=${answer.rules.includes(i) ? "rule" : ""}>
                          ${row.map(
                            (cell, k) => html`<td
                              key=${k}
                              class=${(t.columns[k].Right ? "num" : "") + (cell.Bold ? " best" : "")}
                            >
                              ${cell.Text}
                            </td>`,
                          )}
                        </tr>`,
                      )}
                    </tbody>
                  </table>
                </div>
                ${
                  t.notes &&
                  t.notes.length > 0 &&
                  html`<ol class="quiet">
                    ${t.notes.map(
                      (n, i) => html`<li key=${i}>
                        ${n.Mark ? n.Mark + " " : ""}
                        ${n.Text}
                      </li>`,
                    )}
                  </ol>`
                }
              `
    }
    <${Figures} id=${newest} />
  `;
}
