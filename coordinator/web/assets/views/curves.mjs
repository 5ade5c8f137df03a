// Curves of many trials: a band for each group, or a line for each trial.
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { GroupBy } from "../components/group-by.mjs";
import { Legend } from "../components/legend.mjs";
import { Plot } from "../components/plot.mjs";
import { Problem } from "../components/problem.mjs";
import { Reading } from "../components/reading.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { colour, dash, rgba } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { distinguishing, goalOf } from "../lib/schema.mjs";

export function Curves({ sweep, schema, version }) {
  const { query } = route.value;
  const names = [
    ...new Set([...sweep.metrics.filter((m) => m.curve).map((m) => m.name), ...schema.metrics]),
  ];
  const metric = names.includes(query.get("curve"))
    ? query.get("curve")
    : names.includes(schema.first)
      ? schema.first
      : names[0];
  const by = query.getAll("by").filter((n) => schema.byName[n]);
  const single = query.get("single") === "1",
    log = query.get("log") === "1";
  const spread = query.get("spread") || "sd";
  const zoom = query.get("x") ? query.get("x").split("_").map(Number) : null;
  const groups = query.get("groups") || "8";
  const { answer, error, stale } = useAnswer(
    metric ? `sweeps/${sweep.id}/curves` : null,
    {
      ...filterOf(query),
      by,
      metric,
      rank: schema.first,
      groups,
      single,
      trials: 400,
      points: single ? 250 : 400,
      from: zoom && zoom[0],
      until: zoom && zoom[1],
    },
    version,
  );
  if (!metric) return html`<p>No trial has a curve yet.</p>`;
  const a = answer && answer.answer;
  const drawn = a ? (single ? drawLines(a) : drawBands(a, spread)) : null;
  const without = a ? a.bands.reduce((n, b) => n + b.without, 0) : 0;
  const gaps = a ? a.bands.reduce((n, b) => n + b.not_finite, 0) : 0;
  const label =
    a && a.by.length
      ? (b) =>
          distinguishing(a.by, schema)
            .map((i) => `${a.by[i]} ${b.values[i] === null ? "none" : number(b.values[i], 6)}`)
            .join(", ")
      : () => "all trials";
  return html`
    <div class="controls">
      <${Choice} label="Curve" name="curve" value=${metric} options=${names} />
      <${GroupBy} schema=${schema} by=${by} />
      <${Choice} label="Groups" name="groups" value=${groups} options=${["4", "8", "12"]} />
      ${
        !single &&
        html`<${Choice}
          label="Band"
          name="spread"
          value=${spread}
          options=${["± standard deviation", "smallest to largest"]}
          values=${["sd", "range"]}
        />`
      }
      <${Check} label="Single trials" name="single" value=${single} />
      <${Check} label="Logarithmic" name="log" value=${log} />
      ${zoom && html`<button onClick=${() => changeRoute({ x: null })}>Whole range</button>`}
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !a
        ? !error && html`<${Loading} />`
        : drawn.xs.length === 0
          ? html`<p>These trials have no such curve yet.</p>`
          : html`
            ${
              (a.drawn < a.trials || a.bands.length < a.groups) &&
              html`<p class="note" role="status">
                Drawn: ${count(a.drawn)} of ${count(a.trials)} trials, in ${a.bands.length} of${" "}
                ${count(a.groups)} groups
                ${
                  schema.first
                    ? `, those with the ${goalOf(schema, schema.first) === "maximize" ? "largest" : "smallest"} mean ${schema.first}`
                    : ""
                }
                . Filter, or group by fewer parameters, to see the others.
              </p>`
            }
            ${
              gaps > 0 &&
              html`<p class="note">
                ${count(gaps)} points are NaN or infinite: the curves have gaps there.
              </p>`
            }
            <div aria-busy=${stale}>
              <${Plot}
                label=${`${metric} over steps, ${a.bands.length} groups`}
                xs=${drawn.xs}
                series=${drawn.series}
                bands=${drawn.bands}
                log=${log}
                zoom=${zoom}
                onZoom=${(z) => changeRoute({ x: z ? z.map((v) => number(v, 6)).join("_") : null })}
                height=${420}
              />
            </div>
            <p class="spark">
              Drag to zoom, double-click for all. A band stays within what was measured.${" "}
              ${without > 0 ? `${count(without)} trials have no such curve.` : ""}
            </p>
            <${Legend}
              items=${a.bands.map((b, i) => ({
                label: html`
                  ${label(b)}${" "}
                  <span class="quiet">(${count(b.trials - b.without)} of ${count(b.of)} trials)</span>
                `,
                stroke: colour(i),
                dash: dash(i),
              }))}
            />
            <h2>In numbers</h2>
            <div class="scroll">
              <table>
                <caption class="visually-hidden">The last values of the groups</caption>
                <thead>
                  <tr>
                    <th scope="col">Group</th>
                    <th scope="col" class="num">trials</th>
                    <th scope="col" class="num">last step</th>
                    <th scope="col" class="num">mean there</th>
                    <th scope="col" class="num">sd</th>
                    <th scope="col" class="num">smallest</th>
                    <th scope="col" class="num">largest</th>
                  </tr>
                </thead>
                <tbody>
                  ${a.bands.map((b) => {
                    const n = (b.steps || []).length - 1;
                    const lows = (b.low || []).filter((v) => v !== null),
                      highs = (b.high || []).filter((v) => v !== null);
                    return html`<tr key=${b.first}>
                      <td><a href=${hrefOf(["trial", sweep.id, b.first])}>${label(b)}</a></td>
                      <td class="num">${count(b.trials)}</td>
                      <td class="num">${n >= 0 ? number(b.steps[n], 6) : ""}</td>
                      <td class="num">
                        ${n >= 0 ? number(b.mean[n], 5) : html`<span class="none">none</span>`}
                      </td>
                      <td class="num">${n >= 0 && b.sd[n] !== null ? number(b.sd[n], 3) : ""}</td>
                      <td class="num">${lows.length ? number(Math.min(...lows), 5) : ""}</td>
                      <td class="num">${highs.length ? number(Math.max(...highs), 5) : ""}</td>
                    </tr>`;
                  })}
                </tbody>
              </table>
            </div>
          `
    }
  `;
}

// axisOf is all steps of several curves, in order, and where each stands.
function axisOf(lists) {
  const all = new Set();
  for (const list of lists) for (const step of list || []) all.add(step);
  const xs = [...all].sort((a, b) => a - b);
  return { xs, at: new Map(xs.map((x, i) => [x, i])) };
}

function valuesOver(at, n, steps, values) {
  const out = new Array(n).fill(undefined);
  (steps || []).forEach((s, i) => {
    out[at.get(s)] = values[i];
  });
  return out;
}

// bandsOf draws mean, upper and lower line of each group.
function drawBands(a, spread) {
  const { xs, at } = axisOf(a.bands.map((b) => b.steps));
  const series = [],
    bands = [];
  a.bands.forEach((b, i) => {
    const stroke = colour(i);
    const high = (b.steps || []).map((_, k) =>
      spread === "range"
        ? b.high[k]
        : b.mean[k] === null
          ? null
          : Math.min(b.mean[k] + (b.sd[k] || 0), b.high[k]),
    );
    const low = (b.steps || []).map((_, k) =>
      spread === "range"
        ? b.low[k]
        : b.mean[k] === null
          ? null
          : Math.max(b.mean[k] - (b.sd[k] || 0), b.low[k]),
    );
    const first = series.length + 1;
    series.push({
      label: "upper",
      stroke: rgba(stroke, 0.35),
      width: 0.6,
      values: valuesOver(at, xs.length, b.steps, high),
    });
    series.push({
      label: "lower",
      stroke: rgba(stroke, 0.35),
      width: 0.6,
      values: valuesOver(at, xs.length, b.steps, low),
    });
    series.push({
      label: "mean",
      stroke,
      dash: dash(i),
      width: 2,
      values: valuesOver(at, xs.length, b.steps, b.mean),
      points: (b.steps || []).length === 1,
    });
    bands.push({ series: [first, first + 1], fill: rgba(stroke, 0.16) });
  });
  return { xs, series, bands };
}

function drawLines(a) {
  const list = a.bands.flatMap((b, i) => (b.curves || []).map((c) => ({ ...c, i })));
  const { xs, at } = axisOf(list.map((c) => c.steps));
  return {
    xs,
    bands: [],
    series: list.map((c) => ({
      label: "trial",
      stroke: rgba(colour(c.i), 0.7),
      width: 1,
      values: valuesOver(at, xs.length, c.steps, c.values),
      points: c.steps.length === 1,
    })),
  };
}
