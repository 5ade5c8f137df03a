// A metric over one parameter.
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { Excluded } from "../components/excluded.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { colour, scheme } from "../lib/colour.mjs";
import { filterOf, whereText } from "../lib/filter.mjs";
import { count, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { logTicks, scaleOf, ticks } from "../lib/scale.mjs";
import { goalOf, metricOf } from "../lib/schema.mjs";

export function Slice({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema),
    goal = goalOf(schema, metric);
  const names = schema.varying;
  const parameter = names.includes(query.get("parameter"))
    ? query.get("parameter")
    : names.find((n) => n !== "seed") || names[0];
  const { answer, error } = useAnswer(
    parameter && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [parameter], metric },
    version,
  );
  if (!parameter || !metric) return html`<p>No parameter varies, or no trial has a metric yet.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Parameter" name="parameter" value=${parameter} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Check} label="Logarithmic metric" name="log" value=${query.get("log") === "1"} />
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Loading} />`
        : html`
          <${Ranges}
            a=${a}
            parameter=${parameter}
            metric=${metric}
            goal=${goal}
            log=${query.get("log") === "1"}
          />
          <div class="scroll">
            <table>
              <caption class="visually-hidden">${metric} over ${parameter}</caption>
              <thead>
                <tr>
                  <th scope="col">${parameter}</th>
                  <th scope="col" class="num">trials</th>
                  <th scope="col">not in the mean</th>
                  <th scope="col" class="num">mean</th>
                  <th scope="col" class="num">sd</th>
                  <th scope="col" class="num">smallest</th>
                  <th scope="col" class="num">largest</th>
                  <th scope="col" class="num">best trial</th>
                </tr>
              </thead>
              <tbody>
                ${a.cells.map((c) => {
                  const level = a.levels[0][c.levels[0]];
                  const all = Object.values(c.states).reduce((x, y) => x + y, 0);
                  return html`<tr key=${c.levels[0]}>
                    <td>
                      ${
                        level.missing
                          ? html`<span class="none">none</span>`
                          : level.low !== undefined
                            ? `${number(level.low)} to ${number(level.high)}`
                            : html`<a
                              href=${hrefOf(["sweep", sweep.id], {
                                where: [
                                  ...filterOf(query).where,
                                  `${parameter}=${whereText(level.value)}`,
                                ],
                              })}
                            >
                              ${number(level.value, 6)}
                            </a>`
                      }
                    </td>
                    <td class="num">${count(all)}</td>
                    <td><${Excluded} states=${c.states} n=${c.n} /></td>
                    <td class="num">
                      ${c.mean === null ? html`<span class="none">none</span>` : number(c.mean, 5)}
                    </td>
                    <td class="num">${c.sd === null ? "" : number(c.sd, 3)}</td>
                    <td class="num">${number(c.min, 5)}</td>
                    <td class="num">${number(c.max, 5)}</td>
                    <td class="num">
                      ${
                        c.best >= 0
                          ? html`<a href=${hrefOf(["trial", sweep.id, c.best])}>${c.best}</a>`
                          : ""
                      }
                    </td>
                  </tr>`;
                })}
              </tbody>
            </table>
          </div>
        `
    }
  `;
}

function Ranges({ a, parameter, metric, goal, log }) {
  scheme.value;
  const w = 1000,
    h = 380,
    left = 80,
    right = 20,
    above = 16,
    below = 64;
  const levels = a.levels[0];
  const shown = a.cells.filter((c) => c.n > 0);
  if (shown.length === 0) return html`<p>No trial that fits has a ${metric}.</p>`;
  let low = Math.min(...shown.map((c) => c.min)),
    high = Math.max(...shown.map((c) => c.max));
  const useLog = log && low > 0;
  if (!useLog) {
    const pad = (high - low || Math.abs(high) || 1) * 0.04;
    low -= pad;
    high += pad;
  }
  const at = scaleOf(low, high, useLog);
  const y = (v) => h - below - at(v) * (h - above - below);
  const present = a.cells.map((c) => c.levels[0]);
  const step = (w - left - right) / Math.max(present.length, 1);
  const x = (level) => left + (present.indexOf(level) + 0.5) * step;
  const marks = useLog
    ? logTicks(low, high)
    : ticks(low, high).filter((t) => t >= low && t <= high);
  const every = Math.ceil(present.length / 16);
  const stroke = colour(0);
  const bar = Math.min(18, step * 0.5);
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${w} ${h}`}
      role="img"
      aria-label=${`${metric} over ${parameter}: mean, standard deviation and range over all other parameters`}
    >
      ${marks.map(
        (m) => html`<g key=${m}>
          <line class="grid" x1=${left} x2=${w - right} y1=${y(m)} y2=${y(m)} />
          <text class="quiet" x=${left - 8} y=${y(m) + 4} text-anchor="end">${number(m)}</text>
        </g>`,
      )}
      ${a.cells.map((c) => {
        const cx = x(c.levels[0]);
        return (
          c.n > 0 &&
          html`<g key=${c.levels[0]}>
            <line
              x1=${cx}
              x2=${cx}
              y1=${y(c.min)}
              y2=${y(c.max)}
              stroke=${stroke}
              stroke-width="1.5"
            />
            <line x1=${cx - 6} x2=${cx + 6} y1=${y(c.min)} y2=${y(c.min)} stroke=${stroke} />
            <line x1=${cx - 6} x2=${cx + 6} y1=${y(c.max)} y2=${y(c.max)} stroke=${stroke} />
            ${
              c.sd !== null &&
              html`<rect
                x=${cx - bar / 2}
                width=${bar}
                y=${y(Math.min(c.mean + c.sd, high))}
                height=${Math.max(
                  y(Math.max(c.mean - c.sd, low)) - y(Math.min(c.mean + c.sd, high)),
                  1,
                )}
                fill=${stroke}
                fill-opacity="0.3"
              />`
            }
            <circle cx=${cx} cy=${y(c.mean)} r="4.5" fill=${stroke}>
              <title>mean ${exact(c.mean)} over ${c.n} trials</title>
            </circle>
            <circle
              cx=${cx}
              cy=${y(goal === "maximize" ? c.max : c.min)}
              r="3.5"
              fill="var(--ground)"
              stroke=${colour(1)}
              stroke-width="2"
            />
          </g>`
        );
      })}
      ${present.map(
        (level, i) =>
          i % every === 0 &&
          html`<text key=${level} x=${x(level)} y=${h - below + 18} text-anchor="middle">
            ${levels[level].missing ? "none" : shortText(levels[level].value)}
          </text>`,
      )}
      ${a.cells.map((c) => {
        const lost = (c.states.failed || 0) + (c.states.diverged || 0);
        return (
          lost > 0 &&
          html`<text
            key=${c.levels[0]}
            x=${x(c.levels[0])}
            y=${h - below + 34}
            text-anchor="middle"
            fill="var(--bad)"
          >
            ✕ ${count(lost)}
          </text>`
        );
      })}
      <text x=${(w + left - right) / 2} y=${h - 6} text-anchor="middle" font-weight="600">
        ${parameter}
        ${a.binned[0] ? " (ranges)" : ""}
      </text>
      <text
        transform=${`translate(16 ${(h - below + above) / 2}) rotate(-90)`}
        text-anchor="middle"
        font-weight="600"
      >
        ${metric}
        ${useLog ? " (log)" : ""}
      </text>
    </svg>
    <p class="quiet">
      Dot: mean. Box: ± standard deviation. Line: from the smallest to the largest over
      all other parameters. Ring: the best. ✕: trials that failed or diverged, which are
      in none of these.
    </p>
  `;
}

export const shortText = (v) => {
  const t = typeof v === "number" ? number(v) : exact(v);
  return t.length > 12 ? t.slice(0, 11) + "…" : t;
};
