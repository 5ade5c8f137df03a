// How much each parameter matters for a metric.
import { Choice } from "../components/choice.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { colour } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { goalOf, metricOf } from "../lib/schema.mjs";

export function Importance({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema),
    goal = goalOf(schema, metric);
  const top = query.get("top") || "0.1";
  const { answer, error } = useAnswer(
    metric ? `sweeps/${sweep.id}/importance` : null,
    { ...filterOf(query), metric, top },
    version,
  );
  if (!metric) return html`<p>No trial has a metric yet.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Choice}
        label="The best"
        name="top"
        value=${top}
        options=${["half", "10 %", "1 %"]}
        values=${["0.5", "0.1", "0.01"]}
      />
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Loading} />`
        : html`
          <p class="quiet">
            From the ${count(a.trials)} trials that completed with ${metric} (${goal});${" "}
            ${count(a.left)} others that fit have none. ${count(a.top)} count as the best. The
            same trials give the same figures each time; of a parameter that exists only
            under a condition, the trials that have it count.
          </p>
          ${
            a.unknown &&
            html`<p class="note">
              Left out, since they have too many values that are no numbers:${" "}
              ${a.unknown.join(", ")}.
            </p>`
          }
          <div class="scroll">
            <table>
              <caption class="visually-hidden">Importance of the parameters for ${metric}</caption>
              <thead>
                <tr>
                  <th scope="col">Parameter</th>
                  <th scope="col">Part of the variance that it explains alone</th>
                  <th scope="col">Share of what sets the best apart (PED-ANOVA)</th>
                  <th scope="col" class="num">values</th>
                  <th scope="col" class="num">trials</th>
                </tr>
              </thead>
              <tbody>
                ${a.parameters.map(
                  (p) => html`<tr key=${p.parameter}>
                    <th scope="row">
                      <a
                        href=${hrefOf(["sweep", sweep.id, "slice"], {
                          ...filterOf(query),
                          metric,
                          parameter: p.parameter,
                        })}
                      >
                        ${p.parameter}
                      </a>
                    </th>
                    <td><${Bar} part=${p.variance} fill=${colour(0)} /></td>
                    <td><${Bar} part=${p.share} fill=${colour(1)} /></td>
                    <td class="num">${count(p.levels)}</td>
                    <td class="num">${count(p.trials)}</td>
                  </tr>`,
                )}
              </tbody>
            </table>
          </div>
          <p class="quiet">
            First figure: the variance of the means at the parameter's values over that of
            all trials, the main effect of functional ANOVA (Hutter, Hoos and Leyton-Brown
            2014). Second: how much the parameter's values among the best differ from those
            among all, over the sum for all parameters (Watanabe, Bansal and Hutter 2023).
            Interactions show in the heat map of two parameters.
          </p>
        `
    }
  `;
}

const Bar = ({ part, fill }) => html`
  <svg width="220" height="14" viewBox="0 0 220 14" aria-hidden="true">
    <rect width="220" height="14" rx="3" fill="var(--sunk)" />
    <rect
      width=${Math.max(220 * Math.min(part, 1), part > 0 ? 1.5 : 0)}
      height="14"
      rx="3"
      fill=${fill}
    />
  </svg>${" "}
  <span>${(100 * part).toFixed(1)} %</span>
`;
