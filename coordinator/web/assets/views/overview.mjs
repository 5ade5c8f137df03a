// What a sweep comes to: its best trials, what matters, and what failed.
import { Bar } from "./importance.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Plot } from "../components/plot.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None, Value } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { axisOf } from "../lib/axis.mjs";
import { colour, dash } from "../lib/colour.mjs";
import { bestOf } from "../lib/cells.mjs";
import { whereOfGroup } from "../lib/filter.mjs";
import { count, counted, duration, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf } from "../lib/route.mjs";
import { distinguishing, goalOf, groupNames, withoutSeed } from "../lib/schema.mjs";

/** @import { Bands, GroupPage, Importances, Overview as Answer, Page, Sweep } from "../../api" */
/** @import { Element } from "../lib/html.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

const maxShown = 5;

/** @param {ViewProps} props */
export function Overview({ sweep, schema, version }) {
  const metric = schema.mainMetric;
  const columns = schema.varying.slice(0, 10);
  const { answer, error } = useAnswer(
    `sweeps/${sweep.id}/overview`,
    { metric, column: columns },
    version,
  );
  const found = answer && answer.answer;
  if (!found) return html`<${Status} answer=${answer} error=${error} />`;
  const failures = found.failed > 0 && html`<${Failures} found=${found} id=${sweep.id} />`;
  return html`
    <${Status} answer=${answer} error=${error} />
    ${!found.best && failures}
    <${Best} found=${found} schema=${schema} columns=${columns} sweep=${sweep} />
    ${
      found.best && html`<${Top} sweep=${sweep} schema=${schema} version=${version}>${failures}<//>`
    }
  `;
}

/**
 * Best shows the best trial, and how long the others will take.
 * @param {{found: Answer, schema: Schema, columns: string[], sweep: Sweep}} props
 */
function Best({ found: { best, left, failed }, schema, columns, sweep }) {
  const { id } = sweep;
  const metric = schema.mainMetric;
  const content = () => {
    if (!metric && failed > 0 && sweep.progress.completed === 0)
      return html`<p class="none">No trial has completed.</p>`; // the failures are above
    if (!metric) return html`<${NoResults} sweep=${sweep} />`;
    if (!best) return html`<p class="none">No trial has completed with a ${metric} yet.</p>`;
    const [value, ...values] = best.cells;
    return html`<dl class="stats">
      <div class="answer">
        <dt>${metric} (${goalOf(schema, metric)})</dt>
        <dd><a href=${hrefOf(["trial", id, best.index])}>${number(value, 5)}</a></dd>
      </div>
      ${columns.map(
        (name, place) => html`<div key=${name}>
          <dt>${name}</dt>
          <dd><${Value} value=${values[place]} /></dd>
        </div>`,
      )}
      <div>
        <dt>trial</dt>
        <dd>${best.index}</dd>
      </div>
    </dl>`;
  };
  return html`<section class="card" aria-labelledby="best">
    <h2 id="best">Best trial</h2>
    ${content()}
    ${left !== null && html`<p class="quiet">About ${duration(left)} left.</p>`}
    <p><a href=${`api/sweeps/${id}/report`} download>Download a report</a> (one HTML file)</p>
  </section>`;
}

/**
 * Top shows the best settings with their curves, the parameters that matter, and its children.
 * @param {ViewProps & {children: Element | false}} props
 */
function Top({ sweep, schema, version, children }) {
  const metric = schema.mainMetric;
  const replicated = schema.varying.includes("seed");
  const descending = goalOf(schema, metric) === "maximize";
  const path = `sweeps/${sweep.id}`;
  const columns = [metric, ...schema.varying.slice(0, 10)];
  const { answer: groups } = useAnswer(
    replicated ? /** @type {`sweeps/${string}/groups`} */ (path + "/groups") : null,
    { metric, sort: "mean", descending, limit: maxShown },
    version,
  );
  const { answer: trials } = useAnswer(
    replicated ? null : /** @type {`sweeps/${string}/trials`} */ (path + "/trials"),
    { state: "completed", sort: metric, descending, column: columns, limit: maxShown },
    version,
  );
  const declared = sweep.metrics.filter((m) => m.curve).map((m) => m.name);
  const curve = declared.includes(metric) || !declared.length ? metric : declared[0];
  const listed = trials ? trials.answer.rows.map((row) => row.index) : [];
  const ranked = replicated ? { rank: metric, groups: maxShown } : { trial: listed };
  const { answer: curves } = useAnswer(
    replicated || listed.length > 0
      ? /** @type {`sweeps/${string}/curves`} */ (path + "/curves")
      : null,
    { metric: curve, trials: 100, points: 300, ...ranked },
    version,
  );
  const { answer: importance } = useAnswer(
    withoutSeed(schema.varying).length > 0
      ? /** @type {`sweeps/${string}/importance`} */ (path + "/importance")
      : null,
    { metric },
    version,
  );
  return html`<div class="pair even">
    <section class="card top" aria-labelledby="top">
      <h2 id="top">${replicated ? "Best settings, mean over the seeds" : "Best trials"}</h2>
      ${groups && html`<${TopGroups} page=${groups.answer} schema=${schema} id=${sweep.id} />`}
      ${
        trials &&
        html`<${TopTrials}
          page=${trials.answer}
          columns=${columns}
          schema=${schema}
          id=${sweep.id}
        />`
      }
    </section>
    <section class="card top" aria-labelledby="curve">
      <h2 id="curve">${curve} of the best ${replicated ? "settings" : "trials"}</h2>
      ${curves && html`<${TopCurves} found=${curves.answer} schema=${schema} curve=${curve} />`}
    </section>
    <section class="card" aria-labelledby="importance">
      <h2 id="importance">Importance</h2>
      ${
        withoutSeed(schema.varying).length === 0
          ? html`<p class="none">No parameter varies.</p>`
          : importance &&
            html`<${Matter} found=${importance.answer} id=${sweep.id} metric=${metric} />`
      }
    </section>
    ${children}
  </div>`;
}

/**
 * Swatch is the colour of a row in the plot.
 * @param {number} i
 */
const swatch = (i) => html`<span class="swatch" style=${{ background: colour(i) }}></span>`;

/** @param {{page: GroupPage, schema: Schema, id: string}} props */
function TopGroups({ page, schema, id }) {
  const metric = schema.mainMetric;
  const goal = goalOf(schema, metric);
  const shown = distinguishing(page.by, schema);
  const heads = [numeric(`${metric} mean ± sd`), numeric("best")];
  const columns = [...heads, ...shown.map((place) => page.by[place]), numeric("trials")];
  return html`<${Table} label="Best settings" columns=${columns}>
    ${page.groups.map((group, i) => {
      const [statistics] = group.metrics;
      const { mean, sd, n, best } = statistics;
      const where = whereOfGroup(page.by, group);
      const value = number(bestOf(statistics, goal), 5);
      return html`<tr key=${group.first}>
        <td class="num">
          ${swatch(i)}
          ${
            mean === null
              ? html`<${None} />`
              : html`<a href=${hrefOf(["sweep", id, "trials"], { where })} title="These trials">
                ${number(mean, 5)}${sd !== null && ` ± ${number(sd, 2)}`}
              </a>`
          }
        </td>
        <td class="num">
          ${best >= 0 && html`<a href=${hrefOf(["trial", id, best])}>${value}</a>`}
        </td>
        ${shown.map(
          (place) => html`<td key=${place}><${Value} value=${group.values[place]} /></td>`,
        )}
        <td class="num">${n < group.count ? `${count(n)} of ${count(group.count)}` : count(n)}</td>
      </tr>`;
    })}
  <//>`;
}

/** @param {{page: Page, columns: string[], schema: Schema, id: string}} props */
function TopTrials({ page, columns, schema, id }) {
  const heads = columns.map((name, place) => (place === 0 ? numeric(name) : name));
  return html`<${Table} label="Best trials" columns=${[...heads, numeric("trial")]}>
    ${page.rows.map(
      ({ index, cells }, i) => html`<tr key=${index}>
        ${columns.map(
          (name, place) => html`<td key=${name} class=${place === 0 ? "num" : ""}>
            ${place === 0 && swatch(i)}
            <${Value} value=${cells[place]} kind=${schema.byName[name]?.kind} />
          </td>`,
        )}
        <td class="num"><a href=${hrefOf(["trial", id, index])}>${index}</a></td>
      </tr>`,
    )}
  <//>`;
}

/** @param {{found: Bands, schema: Schema, curve: string}} props */
function TopCurves({ found, schema, curve }) {
  const { bands, by } = found;
  const values = bands.map((band) => band.values);
  const names = by.length
    ? groupNames(by, schema, values)
    : bands.map(({ first }) => `trial ${first}`);
  const { xs, over } = axisOf(bands.map(({ steps }) => steps));
  if (xs.length === 0) return html`<p class="none">These trials have no curves.</p>`;
  const lines = bands.map(({ steps, mean }, i) => ({
    name: names[i],
    label: names[i],
    stroke: colour(i),
    dash: dash(i),
    width: 2,
    series: [i],
    values: over(steps, mean),
    points: steps?.length === 1,
  }));
  return html`<${Plot}
    label=${`${curve} over steps, ${counted(lines.length, "line")}`}
    yTitle=${curve}
    xs=${xs}
    series=${lines}
    items=${lines}
    height=${220}
  />`;
}

/** @param {{found: Importances, id: string, metric: string}} props */
function Matter({ found, id, metric }) {
  const list = found.parameters.slice(0, 6);
  if (list.length === 0) return html`<p class="none">Too few trials to compare.</p>`;
  const columns = ["Parameter", "Variance explained by it alone"];
  return html`<${Table} label="Importance" columns=${columns}>
    ${list.map(
      ({ parameter, variance, few }) => html`<tr key=${parameter}>
        <th scope="row">
          <a href=${hrefOf(["sweep", id, "slice"], { metric, parameter })}>${parameter}</a>
        </th>
        <td><${Bar} part=${variance} few=${few} fill=${colour(0)} /></td>
      </tr>`,
    )}
  <//>`;
}

/**
 * Failures lists why trials failed, each cause once.
 * @param {{found: Answer, id: string}} props
 */
function Failures({ found: { failed, examined, causes }, id }) {
  const listed = causes.reduce((sum, cause) => sum + cause.trials, 0);
  const state = { state: "failed" };
  return html`<section class="card" aria-labelledby="failures">
    <h2 id="failures">
      <a href=${hrefOf(["sweep", id, "trials"], state)}>${counted(failed, "failed trial")}</a>
    </h2>
    ${
      listed < failed &&
      html`<p class="quiet">
        ${
          examined < failed
            ? `Showing the causes of the first ${count(examined)}.`
            : `Showing the ${causes.length} most frequent causes.`
        }
      </p>`
    }
    ${causes.map(
      ({ text, trials, first, output }) => html`<div class="cause" key=${text}>
        <span class="bad">${count(trials)} ×</span>
        <div>
          <p class="mono">${text}</p>
          <p class="quiet">First in <a href=${hrefOf(["trial", id, first])}>trial ${first}</a>.</p>
          ${
            output &&
            html`<details>
              <summary>Show its error output</summary>
              <pre tabindex="0" aria-label="Error output">${output}</pre>
            </details>`
          }
        </div>
      </div>`,
    )}
  </section>`;
}
