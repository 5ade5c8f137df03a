// A heat map: a metric over two parameters.
import { Choice } from "../components/choice.mjs";
import { Excluded } from "../components/excluded.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { scheme, shade } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { route } from "../lib/route.mjs";
import { scaleOf, wantsLog } from "../lib/scale.mjs";
import { goalOf, metricOf } from "../lib/schema.mjs";
import { shortText } from "./slice.mjs";

export function Heat({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema),
    goal = goalOf(schema, metric);
  const names = schema.varying.filter((n) => n !== "seed");
  const x = names.includes(query.get("x")) ? query.get("x") : names[1] || names[0];
  const y = names.includes(query.get("y"))
    ? query.get("y")
    : names.find((n) => n !== x) || names[0];
  const what = query.get("what") || "mean";
  const { answer, error } = useAnswer(
    names.length > 1 && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [y, x], metric },
    version,
  );
  if (names.length < 2 || !metric)
    return html`<p>A heat map needs two parameters that vary, and a metric.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Across" name="x" value=${x} options=${names} />
      <${Choice} label="Down" name="y" value=${y} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Choice} label="Of each cell" name="what" value=${what} options=${["mean", "best"]} />
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Loading} />`
        : html`<${HeatMap}
          a=${a}
          x=${x}
          y=${y}
          metric=${metric}
          goal=${goal}
          what=${what}
        />`
    }
  `;
}

function HeatMap({ a, x, y, metric, goal, what }) {
  scheme.value;
  const rows = [...new Set(a.cells.map((c) => c.levels[0]))].sort((p, q) => p - q),
    columns = [...new Set(a.cells.map((c) => c.levels[1]))].sort((p, q) => p - q);
  const of = (c) =>
    c.n === 0 ? null : what === "best" ? (goal === "maximize" ? c.max : c.min) : c.mean;
  const values = a.cells.map(of).filter((v) => v !== null);
  if (values.length === 0) return html`<p>No trial that fits has a ${metric}.</p>`;
  const low = Math.min(...values),
    high = Math.max(...values),
    log = wantsLog(low, high);
  const at = scaleOf(low, high, log);
  const tone = (v) => shade(goal === "maximize" ? at(v) : 1 - at(v));
  const cells = new Map(a.cells.map((c) => [c.levels.join(), c]));
  const name = (levels, i) => {
    const l = levels[i];
    return l.missing
      ? "none"
      : l.low !== undefined
        ? `${number(l.low, 3)} to ${number(l.high, 3)}`
        : shortText(l.value);
  };
  const w = 1000,
    left = 130,
    above = 20,
    cw = Math.min((w - left - 20) / columns.length, 150),
    ch = Math.min(Math.max(26, 420 / rows.length), 46);
  const h = above + rows.length * ch + 56;
  const every = Math.ceil(columns.length / Math.floor((cw * columns.length) / 62));
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${w} ${h}`}
      role="img"
      aria-label=${`${metric} over ${x} and ${y}, as a heat map; the table below has the figures`}
    >
      ${rows.map(
        (r, i) => html`<g key=${r}>
          <text x=${left - 8} y=${above + (i + 0.5) * ch + 4} text-anchor="end">
            ${name(a.levels[0], r)}
          </text>
          ${columns.map((k, j) => {
            const c = cells.get([r, k].join());
            const v = c ? of(c) : null;
            const lost = c ? (c.states.failed || 0) + (c.states.diverged || 0) : 0;
            const t = v === null ? null : tone(v);
            return html`<g key=${k}>
              <rect
                x=${left + j * cw + 1}
                y=${above + i * ch + 1}
                width=${cw - 2}
                height=${ch - 2}
                rx="2"
                fill=${t ? t.fill : "var(--sunk)"}
                stroke=${t ? "none" : "var(--line)"}
              >
                <title>
                  ${y} ${name(a.levels[0], r)}, ${x} ${name(a.levels[1], k)}:${" "}
                  ${v === null ? "none" : exact(v)}
                  ${c ? `, ${c.n} trials` : ""}
                  ${lost ? `, ${lost} failed or diverged` : ""}
                </title>
              </rect>
              ${
                cw > 44 &&
                html`<text
                  x=${left + (j + 0.5) * cw}
                  y=${above + (i + 0.5) * ch + 4}
                  text-anchor="middle"
                  style=${{ fill: t ? t.ink : "var(--quiet)" }}
                >
                  ${v === null ? (c ? (lost ? "✕" : "none") : "") : number(v, 3)}
                  ${v !== null && lost ? ` ✕${lost}` : ""}
                </text>`
              }
            </g>`;
          })}
        </g>`,
      )}
      ${columns.map(
        (k, j) =>
          j % every === 0 &&
          html`<text
            key=${k}
            x=${left + (j + 0.5) * cw}
            y=${above + rows.length * ch + 18}
            text-anchor="middle"
          >
            ${name(a.levels[1], k)}
          </text>`,
      )}
      <text
        x=${left + (columns.length * cw) / 2}
        y=${above + rows.length * ch + 42}
        text-anchor="middle"
        font-weight="600"
      >
        ${x}
      </text>
      <text x=${left - 8} y=${above - 6} text-anchor="end" font-weight="600">${y}</text>
    </svg>
    <p class="quiet">
      The brighter the better: from ${number(goal === "maximize" ? high : low, 5)} to${" "}
      ${number(goal === "maximize" ? low : high, 5)}
      ${log ? ", in logarithms" : ""} (${goal}). ✕: trials that failed or diverged, which
      are in no mean. Grey: no trial has a value.
    </p>
    <details>
      <summary>In numbers</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">${y}</th>
              <th scope="col">${x}</th>
              <th scope="col" class="num">${what}</th>
              <th scope="col" class="num">sd</th>
              <th scope="col" class="num">trials</th>
              <th scope="col">not in the mean</th>
            </tr>
          </thead>
          <tbody>
            ${a.cells.map(
              (c) => html`<tr key=${c.levels.join()}>
                <td>${name(a.levels[0], c.levels[0])}</td>
                <td>${name(a.levels[1], c.levels[1])}</td>
                <td class="num">
                  ${of(c) === null ? html`<span class="none">none</span>` : number(of(c), 5)}
                </td>
                <td class="num">${c.sd === null ? "" : number(c.sd, 3)}</td>
                <td class="num">${count(c.n)}</td>
                <td><${Excluded} states=${c.states} n=${c.n} /></td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  `;
}
