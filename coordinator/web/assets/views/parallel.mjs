// Parallel coordinates: a line for each trial across all parameters.
import { useState } from "preact/hooks";
import { Choice } from "../components/choice.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { scheme, shade } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { logTicks, scaleOf, ticks, wantsLog } from "../lib/scale.mjs";
import { goalOf, metricOf } from "../lib/schema.mjs";

const mostLines = 600;

export function Parallel({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema),
    goal = goalOf(schema, metric);
  const top = query.get("top") || "1";
  const chosen = query.getAll("axis").filter((n) => schema.byName[n]);
  const names = chosen.length ? chosen : schema.varying.filter((n) => n !== "seed").slice(0, 9);
  const columns = [...names, metric].filter(Boolean);
  const { answer, error } = useAnswer(
    `sweeps/${sweep.id}/lines`,
    { ...filterOf(query), metric, top, limit: mostLines, column: columns },
    version,
  );
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Choice}
        label="Trials"
        name="top"
        value=${top}
        options=${["all", "best half", "best 10 %", "best 1 %"]}
        values=${["1", "0.5", "0.1", "0.01"]}
      />
      <details class="pick">
        <summary>Axes (${names.length})</summary>
        <div>
          ${schema.varying.map(
            (n) => html`<label key=${n}>
              <input
                type="checkbox"
                checked=${names.includes(n)}
                onChange=${(e) =>
                  changeRoute({
                    axis: e.target.checked ? [...names, n] : names.filter((x) => x !== n),
                  })}
              />
              ${n}
            </label>`,
          )}
          <p><button onClick=${() => changeRoute({ axis: null })}>What varies</button></p>
        </div>
      </details>
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Loading} />`
        : a.rows.length === 0
          ? html`<p>No trial fits.</p>`
          : html`
            ${
              (a.rows.length < a.chosen || a.chosen < a.total) &&
              html`<p class="note" role="status">
                Drawn: ${count(a.rows.length)} trials
                ${a.rows.length < a.chosen ? `, spread evenly over the ${count(a.chosen)}` : ""}
                ${top !== "1" ? ` that are the best ${top * 100} % by ${metric}` : ""}, of${" "}
                ${count(a.total)} that fit.
              </p>`
            }
            <${Lines}
              rows=${a.rows}
              columns=${columns}
              metric=${metric}
              goal=${goal}
              sweep=${sweep}
            />
          `
    }
  `;
}

function Lines({ rows, columns, metric, goal, sweep }) {
  const [over, set] = useState(null);
  scheme.value; // drawn anew when it changes
  const w = 1100,
    h = 440,
    left = 110,
    right = 90,
    above = 40,
    below = 60,
    missingAt = h - 22;
  const axes = columns.map((name, i) => {
    const values = rows.map((r) => r.cells[i]).filter((v) => v !== null);
    const numeric = values.length > 0 && values.every((v) => typeof v === "number");
    const x = left + (columns.length > 1 ? i / (columns.length - 1) : 0.5) * (w - left - right);
    const span = h - below - above;
    if (numeric) {
      const low = Math.min(...values),
        high = Math.max(...values),
        log = wantsLog(low, high);
      const at = scaleOf(low, high, log);
      const distinct = [...new Set(values)].sort((a, b) => a - b);
      const marks =
        distinct.length <= 8
          ? distinct
          : log
            ? logTicks(low, high)
            : ticks(low, high).filter((t) => t >= low && t <= high);
      return {
        name,
        x,
        log,
        low,
        high,
        marks: marks.map((v) => ({ y: h - below - at(v) * span, text: number(v) })),
        y: (v) => (v === null ? missingAt : h - below - at(v) * span),
        some: values.length < rows.length,
      };
    }
    const list = [...new Set(values.map(exact))].sort();
    const y = (v) =>
      v === null
        ? missingAt
        : h - below - (list.length > 1 ? list.indexOf(exact(v)) / (list.length - 1) : 0.5) * span;
    return {
      name,
      x,
      marks: list.slice(0, 16).map((t) => ({
        y: y(valueOfText(t, values)),
        text: t.length > 14 ? t.slice(0, 13) + "…" : t,
      })),
      y,
      some: values.length < rows.length,
    };
  });
  const last = axes[axes.length - 1];
  const range = rows.map((r) => r.cells[r.cells.length - 1]).filter((v) => typeof v === "number");
  const worth = range.length
    ? scaleOf(Math.min(...range), Math.max(...range), last.log)
    : () => 0.5;
  const colourOf = (r) => {
    const v = r.cells[r.cells.length - 1];
    if (r.state === "failed") return "var(--bar-failed)";
    if (r.state === "diverged") return "var(--bar-diverged)";
    if (typeof v !== "number") return "var(--quiet)";
    const t = goal === "maximize" ? worth(v) : 1 - worth(v);
    return shade(scheme.value === "dark" ? 0.25 + 0.75 * t : 0.85 * (1 - t)).fill;
  };
  const ordered = [...rows].sort((a, b) => (a.state === "completed") - (b.state === "completed"));
  const counts = {};
  for (const r of rows) counts[r.state] = (counts[r.state] || 0) + 1;
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${w} ${h}`}
      role="img"
      aria-label=${`Parallel coordinates of ${rows.length} trials over ${columns.join(", ")}`}
    >
      ${ordered.map(
        (r) => html`<polyline
          key=${r.index}
          points=${axes.map((a, i) => `${a.x.toFixed(1)},${a.y(r.cells[i]).toFixed(1)}`).join(" ")}
          fill="none"
          stroke=${colourOf(r)}
          stroke-width=${over === r.index ? 3.5 : 1.2}
          stroke-opacity=${over === null ? 0.55 : over === r.index ? 1 : 0.12}
          stroke-dasharray=${r.state === "completed" ? null : "5 3"}
          onMouseEnter=${() => set(r.index)}
          onMouseLeave=${() => set(null)}
          onClick=${() => {
            location.hash = hrefOf(["trial", sweep.id, r.index]);
          }}
        >
          <title>
            trial ${r.index}, ${r.state}:${" "}
            ${columns.map((n, i) => `${n} ${exact(r.cells[i])}`).join(", ")}
          </title>
        </polyline>`,
      )}
      ${axes.map(
        (a) => html`<g key=${a.name}>
          <line class="axis" x1=${a.x} x2=${a.x} y1=${above} y2=${h - below} />
          <text x=${a.x} y=${above - 16} text-anchor="middle" font-weight="600">
            ${a.name}
            ${a.log ? " (log)" : ""}
          </text>
          ${a.marks.map(
            (m, i) => html`<g key=${i}>
              <line class="axis" x1=${a.x - 4} x2=${a.x} y1=${m.y} y2=${m.y} />
              <text class="halo" x=${a.x - 7} y=${m.y + 4} text-anchor="end">${m.text}</text>
            </g>`,
          )}
          ${
            a.some &&
            html`<g>
              <line
                class="grid"
                x1=${a.x - 18}
                x2=${a.x + 18}
                y1=${missingAt}
                y2=${missingAt}
              />
              <text class="quiet" x=${a.x} y=${missingAt + 16} text-anchor="middle">none</text>
            </g>`
          }
        </g>`,
      )}
    </svg>
    <p class="controls">
      ${Object.entries(counts).map(
        ([s, n]) => html`<span key=${s}><${State} state=${s} /> ${count(n)}</span>`,
      )}
      <span class="quiet">
        Completed trials are the ${scheme.value === "dark" ? "brighter" : "darker"} the
        better their ${metric} (${goal}); others are dashed. What is missing runs along the
        bottom. A click opens a trial; the list of trials has the same ones as a table.
      </span>
    </p>
  `;
}

// tryParse finds the value that a text stands for.
const valueOfText = (text, values) => {
  const v = values.find((x) => exact(x) === text);
  return v === undefined ? null : v;
};
