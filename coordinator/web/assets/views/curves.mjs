// Curves of many trials: a band for each group, or a line for each trial.
import { Mean } from "./groups.mjs";
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { GroupBy } from "../components/group-by.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Plot } from "../components/plot.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { axisOf } from "../lib/axis.mjs";
import { colour, dash, rgba } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { chosenOf, goalOf, groupNames } from "../lib/schema.mjs";
import { smooth } from "../lib/smooth.mjs";

/** @import { Band, Bands } from "../../api" */
/** @import { Item, Range, Series } from "../components/plot.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

const maxBands = 4; // of more groups the others are lines

/** The weights of the previous value in the moving average. */
const smoothings = ["0", "0.6", "0.9", "0.97"];

/** @param {ViewProps} props */
export function Curves({ sweep, schema, version }) {
  const { query } = route.value;
  const declared = sweep.metrics.filter((m) => m.curve).map((m) => m.name);
  const names = [...new Set([...declared, ...schema.metrics])];
  const rank = schema.mainMetric;
  const metric = chosenOf(query, "curve", names, names.includes(rank) ? rank : names[0]);
  const by = query.getAll("by").filter((name) => schema.byName[name]);
  const single = query.get("single") === "1";
  const log = query.get("log") === "1";
  const spread = query.get("spread") || "sd";
  const zoom = zoomOf(query);
  const groups = query.get("groups") || "8";
  const smoothing = chosenOf(query, "smooth", smoothings, "0");
  const byTime = query.get("axis") === "time";
  const { answer, error, stale } = useAnswer(
    metric ? `sweeps/${sweep.id}/curves` : null,
    {
      ...filterOf(query),
      by,
      metric,
      rank,
      groups,
      single,
      trials: 400,
      points: single ? 250 : 400,
      time: byTime,
      from: !byTime && zoom && zoom[0],
      until: !byTime && zoom && zoom[1],
    },
    version,
  );
  if (!metric) return html`<${NoResults} sweep=${sweep} />`;
  const found = answer && answer.answer;
  const drawn =
    found && drawingOf(found, schema, { single, spread, byTime, smoothing: Number(smoothing) });
  /** @param {Range | null} range */
  const zoomTo = (range) => changeRoute({ x: range && range.map((v) => number(v, 6)).join("_") });
  const axis = byTime ? "seconds" : "step";
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
          options=${["± standard deviation", "smallest to largest value"]}
          values=${["sd", "range"]}
        />`
      }
      <${Choice}
        label="Smoothing"
        name="smooth"
        value=${smoothing}
        options=${["none", "light", "medium", "strong"]}
        values=${smoothings}
      />
      <${Choice}
        label="By"
        name="axis"
        value=${byTime ? "time" : "step"}
        options=${["step", "time"]}
      />
      <${Check} label="Individual trials" name="single" value=${single} />
      <${Check} label="Logarithmic" name="log" value=${log} />
      ${zoom && html`<button onClick=${() => zoomTo(null)}>Reset zoom</button>`}
    </div>
    <${Status} answer=${answer} error=${error} />
    ${
      drawn &&
      drawn.xs.length === 0 &&
      (rank
        ? html`<p>None of these trials has a curve of ${metric}.</p>`
        : html`<${NoResults} sweep=${sweep} />`)
    }
    ${
      found &&
      drawn &&
      drawn.xs.length > 0 &&
      html`
        <${Extent} found=${found} schema=${schema} />
        <div aria-busy=${stale}>
          <${Plot}
            label=${`${metric} over ${axis}s, ${counted(found.bands.length, "group")}`}
            xTitle=${axis}
            yTitle=${metric}
            ...${drawn}
            log=${log}
            zoom=${zoom}
            onZoom=${zoomTo}
            height=${420}
          />
        </div>
        <${Captions} found=${found} byTime=${byTime} smoothing=${smoothing} />
        <h2>Summary of the groups</h2>
        <${Numbers} found=${found} schema=${schema} id=${sweep.id} />
      `
    }
  `;
}

/**
 * zoomOf reads the steps between which the address zooms.
 * @param {URLSearchParams} query
 * @returns {Range | null}
 */
function zoomOf(query) {
  const text = query.get("x");
  if (!text) return null;
  const [from, until] = text.split("_").map(Number);
  return [from, until];
}

/**
 * Extent says which trials are drawn, unless all are, and where the curves have gaps.
 * @param {{found: Bands, schema: Schema}} props
 */
function Extent({ found: { bands, drawn, trials, groups }, schema }) {
  const gaps = bands.reduce((sum, band) => sum + band.not_finite, 0);
  const end = goalOf(schema, schema.mainMetric) === "maximize" ? "largest" : "smallest";
  const ranked = schema.mainMetric && ` (${end} mean ${schema.mainMetric})`;
  const which =
    bands.length < groups
      ? `the ${bands.length}${ranked && " best"} of ${count(groups)} groups${ranked}`
      : counted(groups, "group");
  return html`
    ${
      (drawn < trials || bands.length < groups) &&
      html`<p class="note" role="status">
        Showing ${which}: ${count(drawn)} of ${counted(trials, "trial")}. To see the others, filter
        or group by fewer parameters.
      </p>`
    }
    ${
      gaps > 0 &&
      html`<p class="note">
        ${counted(gaps, "sample")} NaN or infinite: the curves have gaps there.
      </p>`
    }
  `;
}

/** @param {{found: Bands, byTime: boolean, smoothing: string}} props */
function Captions({ found, byTime, smoothing }) {
  const without = found.bands.reduce((sum, band) => sum + band.without, 0);
  const notes = [
    "Drag to zoom, double-click to reset. Choose a name to light its line.",
    "Bands are clipped to the measured range.",
    found.bands.length > maxBands && `Only the best ${maxBands} groups have one.`,
    smoothing !== "0" && "Smoothed by an exponential moving average; the table below is not.",
    byTime &&
      "Time is a group's mean duration of completed trials, spread evenly over their steps.",
    without > 0 && `Without such a curve: ${counted(without, "trial")}.`,
  ];
  return html`<p class="spark">${notes.filter(Boolean).join(" ")}</p>`;
}

/** @param {{found: Bands, schema: Schema, id: string}} props */
function Numbers({ found, schema, id }) {
  const rank = schema.mainMetric;
  const groups = namesOf(found, schema);
  const overall = ["smallest of all steps", "largest of all steps"];
  const names = ["trials", "last step", "mean ± sd there", ...overall];
  const result = rank ? [`${rank} mean ± sd, as in Groups`] : [];
  const columns = ["Group", ...[...result, ...names].map(numeric)];
  return html`<${Table} label="Summary of the groups" columns=${columns}>
    ${found.bands.map((band, i) => {
      const steps = band.steps || [];
      const last = steps.length - 1;
      const lows = (band.low || []).filter((v) => v !== null);
      const highs = (band.high || []).filter((v) => v !== null);
      return html`<tr key=${band.first}>
        <td><a href=${hrefOf(["trial", id, band.first])}>${groups[i]}</a></td>
        ${rank && html`<td class="num"><${Mean} statistics=${band.result} /></td>`}
        <td class="num">${count(band.trials)}</td>
        <td class="num">${last >= 0 && number(steps[last], 6)}</td>
        <td class="num">
          ${last >= 0 ? number(band.mean[last], 5) : html`<${None} />`}
          ${last >= 0 && band.sd[last] !== null && ` ± ${number(band.sd[last], 2)}`}
        </td>
        <td class="num">${lows.length > 0 && number(Math.min(...lows), 5)}</td>
        <td class="num">${highs.length > 0 && number(Math.max(...highs), 5)}</td>
      </tr>`;
    })}
  <//>
    ${
      rank &&
      html`<p class="quiet">
        The mean as in Groups is over the ${rank} that each completed trial reported as its result,
        which may be that of an earlier step. The mean at the last step is over the curves, those of
        unfinished and failed trials included.
      </p>`
    }`;
}

/**
 * @typedef {object} Look
 * @property {boolean} single whether each trial has a line
 * @property {string} spread "range" for bands from the smallest to the largest value, else the
 *   deviation
 * @property {boolean} byTime
 * @property {number} smoothing the weight of the previous value, 0 for none
 */

/**
 * drawingOf lays out what the plot draws: the groups' bands and means, or the trials' lines.
 * @param {Bands} found
 * @param {Schema} schema
 * @param {Look} look
 */
function drawingOf(found, schema, look) {
  const names = namesOf(found, schema);
  const bands = found.bands.map((band, i) => ({
    ...band,
    name: names[i],
    scale: look.byTime ? secondsPerStep(band) : 1,
  }));
  const laid = look.single ? drawLines(bands, look) : drawBands(bands, look);
  /** @type {Item[]} */
  const items = laid.places.map((series, i) => ({
    name: bands[i].name,
    detail: `(${count(bands[i].trials - bands[i].without)} of ${counted(bands[i].of, "trial")})`,
    stroke: colour(i),
    dash: dash(i),
    series,
  }));
  const { xs, bands: areas, series } = laid;
  return { xs, bands: areas, series, items: items.filter((item) => item.series.length > 0) };
}

/**
 * @param {Bands} found
 * @param {Schema} schema
 */
const namesOf = ({ by, bands }, schema) =>
  groupNames(
    by,
    schema,
    bands.map((band) => band.values),
  );

/** @typedef {Band & {name: string, scale: number}} NamedBand scale is that of the steps */

/**
 * secondsPerStep is a trial's mean duration over its last step.
 * @param {Band} band
 */
function secondsPerStep({ seconds, last_step: last }) {
  return seconds && last ? seconds / last : NaN;
}

/**
 * scaled converts steps to the plot's axis; none if the time is not known.
 * @param {number[] | null} steps
 * @param {number} scale
 */
const scaled = (steps, scale) =>
  Number.isNaN(scale) ? [] : (steps || []).map((step) => step * scale);

/**
 * drawBands draws the mean of each group, and upper and lower line of the first ones.
 * @param {NamedBand[]} list
 * @param {Look} look
 */
function drawBands(list, { spread, smoothing }) {
  const { xs, over } = axisOf(list.map(({ steps, scale }) => scaled(steps, scale)));
  /** @type {Series[]} */
  const series = [];
  /** @type {uPlot.Band[]} */
  const bands = [];
  /** @type {number[][]} */
  const places = [];
  for (const [i, band] of list.entries()) {
    const steps = scaled(band.steps, band.scale);
    const { low, high } = spread === "range" ? band : deviationOf(band);
    const stroke = colour(i);
    const first = series.length;
    /** @param {(number | null)[]} values */
    const smoothed = (values) => over(steps, smooth(values, smoothing));
    series.push({
      label: "mean",
      stroke,
      dash: dash(i),
      width: 2,
      values: smoothed(band.mean),
      points: steps.length === 1,
    });
    if (i < maxBands) {
      const edge = { stroke: rgba(stroke, 0.35), width: 0.6 };
      series.push({ label: "upper", ...edge, values: smoothed(high) });
      series.push({ label: "lower", ...edge, values: smoothed(low) });
      // the plot's first series are the steps
      bands.push({ series: [first + 2, first + 3], fill: rgba(stroke, 0.16) });
    }
    places.push(series.slice(first).map((_, k) => first + k));
  }
  return { xs, series, bands, places };
}

/**
 * deviationOf returns the standard deviation around a mean, within what was measured.
 * @param {Band} band
 */
function deviationOf({ steps, mean, sd, low, high }) {
  /**
   * @param {1 | -1} sign
   * @param {(number | null)[]} ends
   * @param {(a: number, b: number) => number} within
   */
  const side = (sign, ends, within) =>
    (steps || []).map((_, k) => {
      const [center, end] = [mean[k], ends[k]];
      if (center === null || end === null) return null;
      return within(center + sign * (sd[k] || 0), end);
    });
  return { low: side(-1, low, Math.max), high: side(1, high, Math.min) };
}

/**
 * drawLines draws the curve of each trial, in the colour of its group.
 * @param {NamedBand[]} list
 * @param {Look} look
 */
function drawLines(list, { smoothing }) {
  const curves = list.flatMap((band, group) =>
    (band.curves || []).map(({ steps, values }) => ({
      group,
      steps: scaled(steps, band.scale),
      values: smooth(values, smoothing),
    })),
  );
  const { xs, over } = axisOf(curves.map((curve) => curve.steps));
  const series = curves.map(({ group, steps, values }) => ({
    label: "trial",
    stroke: rgba(colour(group), 0.7),
    width: 1,
    values: over(steps, values),
    points: steps.length === 1,
  }));
  /** @type {uPlot.Band[]} */
  const bands = [];
  const places = list.map((_, group) =>
    [...curves.keys()].filter((place) => curves[place].group === group),
  );
  return { xs, series, bands, places };
}
