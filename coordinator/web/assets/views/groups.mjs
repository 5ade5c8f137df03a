// Groups of trials that differ only in the seed: mean, deviation and best.
import { Choice } from "../components/choice.mjs";
import { GroupBy } from "../components/group-by.mjs";
import { Pager } from "../components/pager.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { State } from "../components/state.mjs";
import { Value } from "../components/value.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { filterOf, whereText } from "../lib/filter.mjs";
import { count, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { distinguishing, goalOf } from "../lib/schema.mjs";

const pageSize = 50;

export function Groups({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = schema.metrics.includes(query.get("metric")) ? query.get("metric") : schema.first;
  const goal = goalOf(schema, metric);
  const by = query.getAll("by").filter((n) => schema.byName[n]);
  const sort = query.get("order") || "mean";
  const descending = query.has("down") ? query.get("down") === "1" : goal === "maximize";
  const offset = Number(query.get("offset") || 0);
  const others = schema.metrics.filter((m) => schema.goals[m] && m !== metric).slice(0, 3);
  const { answer, error, stale } = useAnswer(
    metric ? `sweeps/${sweep.id}/groups` : null,
    {
      ...filterOf(query),
      by,
      metric: [metric, ...others],
      sort,
      descending,
      offset,
      limit: pageSize,
    },
    version,
  );
  if (!metric) return html`<p>No trial has a metric yet.</p>`;
  const page = answer && answer.answer;
  const shown = page ? distinguishing(page.by, schema) : [];
  const order = (name, down) =>
    changeRoute({ order: name, down: sort === name ? !descending : down, offset: null }, true);
  const head = (name, label, down) => html`<th
    scope="col"
    class=${page.by.includes(name) ? "" : "num"}
    aria-sort=${sort === name ? (descending ? "descending" : "ascending") : "none"}
  >
    <button class="plain" onClick=${() => order(name, down)}>
      ${label}
      ${sort === name ? (descending ? " ↓" : " ↑") : ""}
    </button>
  </th>`;
  const bestMean =
    page &&
    page.groups.reduce((b, g) => {
      const m = g.metrics[0].mean;
      return m !== null && (b === null || (goal === "maximize" ? m > b : m < b)) ? m : b;
    }, null);
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${GroupBy} schema=${schema} by=${by} />
      <span class="quiet">${goal}</span>
      <span class="quiet" aria-live="polite">
        ${page ? `${count(page.total)} groups of ${count(page.trials)} trials` : ""}
      </span>
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !page
        ? !error && html`<${Loading} />`
        : html`
          <p class="quiet">
            Mean ± standard deviation over the trials of a group that completed and did not
            diverge. The others are counted, never taken for 0.
          </p>
          <div class="scroll" aria-busy=${stale}>
            <table>
              <caption class="visually-hidden">Groups</caption>
              <thead>
                <tr>
                  ${shown.map((k) => head(page.by[k], page.by[k], false))}
                  ${head("count", "trials", true)}
                  <th scope="col">not in the mean</th>
                  ${head("mean", metric + " mean ± sd", goal === "maximize")}
                  ${head("best", "best", goal === "maximize")}
                  ${others.map((m) => html`<th key=${m} scope="col" class="num">${m}</th>`)}
                  <th scope="col">curves</th>
                </tr>
              </thead>
              <tbody>
                ${page.groups.map((g) => {
                  const m = g.metrics[0];
                  const left = Object.entries(g.states).filter(([s]) => s !== "completed");
                  const silent = (g.states.completed || 0) - m.n;
                  return html`<tr key=${g.first}>
                    ${shown.map((k, i) => {
                      const v = g.values[k];
                      return html`<td key=${k}>
                        ${
                          i === 0
                            ? html`<a
                              href=${hrefOf(["sweep", sweep.id], {
                                where: page.by.map((n, k) => n + "=" + whereText(g.values[k])),
                              })}
                              title="These trials"
                            >
                              ${v === null ? html`<span class="none">none</span>` : number(v, 6)}
                            </a>`
                            : html`<${Value} value=${v} />`
                        }
                      </td>`;
                    })}
                    <td class="num">${count(g.count)}</td>
                    <td>
                      ${left.map(
                        ([s, n]) => html`<span key=${s}>
                          <${State} state=${s} /> ${count(n)}${" "}
                        </span>`,
                      )}
                      ${
                        silent > 0 &&
                        html`<span class="state failed">NaN or none ${count(silent)}</span>`
                      }
                      ${!left.length && !silent && html`<span class="none">–</span>`}
                    </td>
                    <td
                      class=${"num" + (m.mean !== null && m.mean === bestMean ? " best" : "")}
                    >
                      <${Mean} m=${m} />
                    </td>
                    <td class="num">
                      ${
                        m.best >= 0
                          ? html`<a href=${hrefOf(["trial", sweep.id, m.best])}>
                            ${number(goal === "maximize" ? m.max : m.min, 5)}
                          </a>`
                          : html`<span class="none">none</span>`
                      }
                    </td>
                    ${others.map(
                      (o, i) => html`<td key=${o} class="num">
                        <${Mean} m=${g.metrics[i + 1]} />
                      </td>`,
                    )}
                    <td>
                      <a
                        href=${hrefOf(["sweep", sweep.id, "curves"], {
                          where: page.by.map((n, k) => n + "=" + whereText(g.values[k])),
                        })}
                      >
                        curves
                      </a>
                    </td>
                  </tr>`;
                })}
              </tbody>
            </table>
          </div>
          <${Pager} offset=${offset} total=${page.total} size=${pageSize} what="groups" />
        `
    }
  `;
}

function Mean({ m }) {
  if (m.mean === null) return html`<span class="none">none</span>`;
  return html`<span title=${`${exact(m.mean)} over ${m.n}`}>
    ${number(m.mean, 5)}
    ${m.sd !== null ? ` ± ${number(m.sd, 2)}` : ""}
    <span class="quiet"> (${m.n})</span>
  </span>`;
}
