// The list of trials: the server pages, sorts and filters.
import { Pager } from "../components/pager.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { State } from "../components/state.mjs";
import { Value } from "../components/value.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { Actions } from "./actions.mjs";
import { SQL } from "./sql.mjs";

const pageSize = 50;

// columnsOf are the chosen columns: by default what varies, and the metrics with a goal.
function columnsOf(query, schema) {
  const chosen = query.getAll("column").filter((name) => schema.byName[name]);
  if (chosen.length > 0) return chosen;
  const metrics = schema.metrics.filter((m) => schema.goals[m]);
  const shown = [...new Set([schema.first, ...metrics])].filter(Boolean).slice(0, 5);
  return [
    ...schema.varying.slice(0, 10),
    ...(shown.length ? shown : schema.metrics.slice(0, 5)),
    "seconds",
  ];
}

export function Trials({ sweep, schema, version }) {
  const { query } = route.value;
  const columns = columnsOf(query, schema);
  const sort = query.get("sort") || "index";
  const descending = query.get("descending") === "1";
  const offset = Number(query.get("offset") || 0);
  const filter = filterOf(query);
  const values = { ...filter, column: columns, sort, descending, offset, limit: pageSize };
  const { answer, error, stale } = useAnswer(`sweeps/${sweep.id}/trials`, values, version);
  const by = (name) => {
    const goal = schema.goals[name];
    const next =
      sort !== name
        ? { sort: name, descending: goal === "maximize" }
        : { sort: name, descending: !descending };
    changeRoute({ ...next, offset: null }, true);
  };
  const head = (name, label) => html`<th
    key=${name}
    scope="col"
    class=${isNumeric(schema.byName[name]) ? "num" : ""}
    aria-sort=${sort === name ? (descending ? "descending" : "ascending") : "none"}
  >
    <button class="plain" onClick=${() => by(name)} title=${"Sort by " + name}>
      ${label || name}
      ${sort === name ? (descending ? " ↓" : " ↑") : ""}
    </button>
  </th>`;
  const page = answer && answer.answer;
  return html`
    <div class="controls">
      <${Columns} schema=${schema} columns=${columns} />
      <${SQL} id=${sweep.id} values=${values} />
      ${page && html`<${Actions} sweep=${sweep} filter=${filter} version=${version} />`}
      <span class="quiet" aria-live="polite">
        ${page ? `${count(page.total)} ${page.total === 1 ? "trial fits" : "trials fit"}` : ""}
      </span>
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !page
        ? !error && html`<${Loading} />`
        : html`
          <div class="scroll" aria-busy=${stale}>
            <table>
              <caption class="visually-hidden">Trials of ${sweep.name}</caption>
              <thead>
                <tr>
                  ${head("index", "trial")}
                  ${head("state")}
                  ${columns.filter((c) => c !== "index" && c !== "state").map((c) => head(c))}
                </tr>
              </thead>
              <tbody>
                ${page.rows.map(
                  (row) => html`<tr key=${row.index}>
                    <td><a href=${hrefOf(["trial", sweep.id, row.index])}>${row.index}</a></td>
                    <td><${State} state=${row.state} /></td>
                    ${columns.map((c, i) =>
                      c === "index" || c === "state"
                        ? null
                        : html`<td key=${c} class=${isNumeric(schema.byName[c]) ? "num" : ""}>
                          <${Value}
                            value=${row.cells[i]}
                            state=${row.state}
                            kind=${(schema.byName[c] || {}).kind}
                          />
                        </td>`,
                    )}
                  </tr>`,
                )}
              </tbody>
            </table>
          </div>
          ${page.rows.length === 0 && html`<p>No trial fits.</p>`}
          <${Pager} offset=${offset} total=${page.total} size=${pageSize} what="trials" />
        `
    }
  `;
}

const isNumeric = (c) =>
  !!c && (c.low !== undefined || c.kind === "metric" || c.name === "seconds") && c.name !== "index";

function Columns({ schema, columns }) {
  const kinds = [
    ["parameter", "Parameters that vary", (c) => c.varies && c.distinct !== 1],
    ["metric", "Metrics", () => true],
    ["figure", "Figures", (c) => c.name !== "index" && c.name !== "state"],
    ["parameter", "Parameters with one value", (c) => !c.varies || c.distinct === 1],
  ];
  const toggle = (name, on) =>
    changeRoute({ column: on ? [...columns, name] : columns.filter((c) => c !== name) });
  return html`<details class="pick">
    <summary>Columns (${columns.length})</summary>
    <div>
      ${kinds.map(([kind, title, wanted]) => {
        const list = schema.columns.filter((c) => c.kind === kind && wanted(c));
        return (
          list.length > 0 &&
          html`
            <h3>${title}</h3>
            ${list.map(
              (c) => html`<label key=${c.name}>
                <input
                  type="checkbox"
                  checked=${columns.includes(c.name)}
                  onChange=${(e) => toggle(c.name, e.target.checked)}
                />
                ${c.name}
              </label>`,
            )}
          `
        );
      })}
      <p><button onClick=${() => changeRoute({ column: null })}>As at first</button></p>
    </div>
  </details>`;
}
