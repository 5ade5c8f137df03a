// Pictures over all trials: parallel coordinates, a metric over one parameter and
// over two, and which parameters matter.
import {
  html,
  useAnswer,
  hrefOf,
  route,
  change,
  count,
  number,
  exact,
  Cell,
  State,
  Problem,
  Reading,
  Waiting,
  useState,
} from "./core.mjs";
import { filterOf, goalOf, Choice, Check } from "./sweep.mjs";
import { whereText } from "./groups.mjs";
import { colour, shade, ticks, logTicks, scaleOf, wantsLog, scheme } from "./chart.mjs";

const metricOf = (query, facts) =>
  facts.metrics.includes(query.get("metric")) ? query.get("metric") : facts.first;

// ---- Parallel coordinates

const most = 600;

export function Parallel({ sweep, facts, time }) {
  const { query } = route.value;
  const metric = metricOf(query, facts),
    goal = goalOf(facts, metric);
  const top = query.get("top") || "1";
  const chosen = query.getAll("axis").filter((n) => facts.byName[n]);
  const names = chosen.length ? chosen : facts.varying.filter((n) => n !== "seed").slice(0, 9);
  const columns = [...names, metric].filter(Boolean);
  const { answer, error } = useAnswer(
    `sweeps/${sweep.id}/lines`,
    { ...filterOf(query), metric, top, limit: most, column: columns },
    time,
  );
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${facts.metrics} />
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
          ${facts.varying.map(
            (n) => html`<label key=${n}>
              <input
                type="checkbox"
                checked=${names.includes(n)}
                onChange=${(e) =>
                  change({
                    axis: e.target.checked ? [...names, n] : names.filter((x) => x !== n),
                  })}
              />
              ${n}
            </label>`,
          )}
          <p><button onClick=${() => change({ axis: null })}>What varies</button></p>
        </div>
      </details>
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Waiting} />`
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
              facts=${facts}
              metric=${metric}
              goal=${goal}
              sweep=${sweep}
            />
          `
    }
  `;
}

function Lines({ rows, columns, facts, metric, goal, sweep }) {
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
        y: y(tryParse(t, values)),
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
const tryParse = (text, values) => {
  const v = values.find((x) => exact(x) === text);
  return v === undefined ? null : v;
};

// ---- One parameter against a metric

export function Slice({ sweep, facts, time }) {
  const { query } = route.value;
  const metric = metricOf(query, facts),
    goal = goalOf(facts, metric);
  const names = facts.varying;
  const parameter = names.includes(query.get("parameter"))
    ? query.get("parameter")
    : names.find((n) => n !== "seed") || names[0];
  const { answer, error } = useAnswer(
    parameter && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [parameter], metric },
    time,
  );
  if (!parameter || !metric) return html`<p>No parameter varies, or no trial has a metric yet.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Parameter" name="parameter" value=${parameter} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${facts.metrics} />
      <${Check} label="Logarithmic metric" name="log" value=${query.get("log") === "1"} />
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Waiting} />`
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
                    <td><${Others} states=${c.states} n=${c.n} /></td>
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

function Others({ states, n }) {
  const left = Object.entries(states).filter(([s]) => s !== "completed");
  const silent = (states.completed || 0) - n;
  if (!left.length && !silent) return html`<span class="none">–</span>`;
  return html`
    ${left.map(
      ([s, k]) => html`<span key=${s}>
        <${State} state=${s} /> ${count(k)}${" "}
      </span>`,
    )}
    ${silent > 0 && html`<span class="state failed">NaN or none ${count(silent)}</span>`}
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
            ${levels[level].missing ? "none" : short(levels[level].value)}
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

const short = (v) => {
  const t = typeof v === "number" ? number(v) : exact(v);
  return t.length > 12 ? t.slice(0, 11) + "…" : t;
};

// ---- Two parameters

export function Heat({ sweep, facts, time }) {
  const { query } = route.value;
  const metric = metricOf(query, facts),
    goal = goalOf(facts, metric);
  const names = facts.varying.filter((n) => n !== "seed");
  const x = names.includes(query.get("x")) ? query.get("x") : names[1] || names[0];
  const y = names.includes(query.get("y"))
    ? query.get("y")
    : names.find((n) => n !== x) || names[0];
  const what = query.get("what") || "mean";
  const { answer, error } = useAnswer(
    names.length > 1 && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [y, x], metric },
    time,
  );
  if (names.length < 2 || !metric)
    return html`<p>A heat map needs two parameters that vary, and a metric.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Across" name="x" value=${x} options=${names} />
      <${Choice} label="Down" name="y" value=${y} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${facts.metrics} />
      <${Choice} label="Of each cell" name="what" value=${what} options=${["mean", "best"]} />
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Waiting} />`
        : html`<${Grid}
          a=${a}
          x=${x}
          y=${y}
          metric=${metric}
          goal=${goal}
          what=${what}
          sweep=${sweep}
          query=${query}
        />`
    }
  `;
}

function Grid({ a, x, y, metric, goal, what, sweep, query }) {
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
        : short(l.value);
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
                <td><${Others} states=${c.states} n=${c.n} /></td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  `;
}

// ---- Importance

export function Importance({ sweep, facts, time }) {
  const { query } = route.value;
  const metric = metricOf(query, facts),
    goal = goalOf(facts, metric);
  const top = query.get("top") || "0.1";
  const { answer, error } = useAnswer(
    metric ? `sweeps/${sweep.id}/importance` : null,
    { ...filterOf(query), metric, top },
    time,
  );
  if (!metric) return html`<p>No trial has a metric yet.</p>`;
  const a = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${facts.metrics} />
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
        ? !error && html`<${Waiting} />`
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
