// Curves of many trials: a band for each group, or a line for each trial.
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { GroupBy } from "../components/group-by.mjs";
import { Legend } from "../components/legend.mjs";
import { Plot } from "../components/plot.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { colour, dash, rgba } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { chosenOf, distinguishing, goalOf } from "../lib/schema.mjs";

/** @import { Band, Bands } from "../../api" */
/** @import { Range, Series } from "../components/plot.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

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
      from: zoom && zoom[0],
      until: zoom && zoom[1],
    },
    version,
  );
  if (!metric) return html`<p>No trial has a curve yet.</p>`;
  const found = answer && answer.answer;
  const drawn = found && (single ? drawLines(found) : drawBands(found, spread));
  /** @param {Range | null} range */
  const zoomTo = (range) => changeRoute({ x: range && range.map((v) => number(v, 6)).join("_") });
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
      <${Check} label="Individual trials" name="single" value=${single} />
      <${Check} label="Logarithmic" name="log" value=${log} />
      ${zoom && html`<button onClick=${() => zoomTo(null)}>Reset zoom</button>`}
    </div>
    <${Status} answer=${answer} error=${error} />
    ${drawn && drawn.xs.length === 0 && html`<p>These trials have no curve of ${metric} yet.</p>`}
    ${
      found &&
      drawn &&
      drawn.xs.length > 0 &&
      html`
        <${Extent} found=${found} schema=${schema} />
        <div aria-busy=${stale}>
          <${Plot}
            label=${`${metric} over steps, ${counted(found.bands.length, "group")}`}
            ...${drawn}
            log=${log}
            zoom=${zoom}
            onZoom=${zoomTo}
            height=${420}
          />
        </div>
        <${Captions} found=${found} schema=${schema} />
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
 * @param {Bands} found
 * @param {Schema} schema
 * @param {Band} band
 */
function groupName({ by }, schema, { values }) {
  if (by.length === 0) return "all trials";
  return distinguishing(by, schema)
    .map((place) => [by[place], values[place]])
    .map(([name, value]) => `${name} ${value === null ? "none" : number(value, 6)}`)
    .join(", ");
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

/** @param {{found: Bands, schema: Schema}} props */
function Captions({ found, schema }) {
  const without = found.bands.reduce((sum, band) => sum + band.without, 0);
  /** @param {Band} band */
  const label = (band) => html`
    ${groupName(found, schema, band)}${" "}
    <span class="quiet">
      (${count(band.trials - band.without)} of ${counted(band.of, "trial")})
    </span>
  `;
  const items = found.bands.map((band, i) => ({
    label: label(band),
    stroke: colour(i),
    dash: dash(i),
  }));
  return html`
    <p class="spark">
      Drag to zoom, double-click to reset. Bands are clipped to the measured range.${" "}
      ${without > 0 && `Without such a curve: ${counted(without, "trial")}.`}
    </p>
    <${Legend} items=${items} />
  `;
}

/** @param {{found: Bands, schema: Schema, id: string}} props */
function Numbers({ found, schema, id }) {
  const overall = ["smallest of all steps", "largest of all steps"];
  const names = ["trials", "last step", "mean at last step", "sd at last step", ...overall];
  const columns = ["Group", ...names.map(numeric)];
  return html`<${Table} label="Summary of the groups" columns=${columns}>
    ${found.bands.map((band) => {
      const steps = band.steps || [];
      const last = steps.length - 1;
      const lows = (band.low || []).filter((v) => v !== null);
      const highs = (band.high || []).filter((v) => v !== null);
      return html`<tr key=${band.first}>
        <td><a href=${hrefOf(["trial", id, band.first])}>${groupName(found, schema, band)}</a></td>
        <td class="num">${count(band.trials)}</td>
        <td class="num">${last >= 0 && number(steps[last], 6)}</td>
        <td class="num">${last >= 0 ? number(band.mean[last], 5) : html`<${None} />`}</td>
        <td class="num">${last >= 0 && number(band.sd[last], 3)}</td>
        <td class="num">${lows.length > 0 && number(Math.min(...lows), 5)}</td>
        <td class="num">${highs.length > 0 && number(Math.max(...highs), 5)}</td>
      </tr>`;
    })}
  <//>`;
}

/**
 * axisOf merges the steps of several curves. Its function over lays values at some of the
 * steps out over all of them.
 * @param {(number[] | null)[]} lists
 */
function axisOf(lists) {
  const xs = [...new Set(lists.flatMap((steps) => steps || []))].sort((a, b) => a - b);
  const places = new Map(xs.map((step, place) => [step, place]));
  /**
   * @param {number[] | null} steps
   * @param {(number | null)[]} values
   */
  const over = (steps, values) => {
    /** @type {(number | null | undefined)[]} */
    const all = new Array(xs.length).fill(undefined);
    for (const [i, step] of (steps || []).entries()) all[places.get(step) ?? 0] = values[i];
    return all;
  };
  return { xs, over };
}

/**
 * drawBands draws mean, upper and lower line of each group.
 * @param {Bands} found
 * @param {string} spread "range" for the smallest and largest value, else the deviation
 */
function drawBands(found, spread) {
  const { xs, over } = axisOf(found.bands.map((band) => band.steps));
  /** @type {Series[]} */
  const series = [];
  /** @type {uPlot.Band[]} */
  const bands = [];
  for (const [i, band] of found.bands.entries()) {
    const { steps, mean } = band;
    const { low, high } = spread === "range" ? band : deviationOf(band);
    const stroke = colour(i);
    const edge = { stroke: rgba(stroke, 0.35), width: 0.6 };
    const first = series.length + 1; // the plot's first series are the steps
    series.push(
      { label: "upper", ...edge, values: over(steps, high) },
      { label: "lower", ...edge, values: over(steps, low) },
      {
        label: "mean",
        stroke,
        dash: dash(i),
        width: 2,
        values: over(steps, mean),
        points: steps?.length === 1,
      },
    );
    bands.push({ series: [first, first + 1], fill: rgba(stroke, 0.16) });
  }
  return { xs, series, bands };
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
 * @param {Bands} found
 */
function drawLines(found) {
  const curves = found.bands.flatMap((band, i) =>
    (band.curves || []).map((curve) => ({ ...curve, stroke: rgba(colour(i), 0.7) })),
  );
  const { xs, over } = axisOf(curves.map((curve) => curve.steps));
  const series = curves.map(({ stroke, steps, values }) => ({
    label: "trial",
    stroke,
    width: 1,
    values: over(steps, values),
    points: steps.length === 1,
  }));
  return { xs, bands: [], series };
}
