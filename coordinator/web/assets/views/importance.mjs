// How much each parameter matters for a metric.
import { Choice } from "../components/choice.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { colour } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { goalOf, metricOf } from "../lib/schema.mjs";

/** @import { Importances } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

/** @param {ViewProps} props */
export function Importance({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const top = query.get("top") || "0.1";
  const { answer, error } = useAnswer(
    metric ? `sweeps/${sweep.id}/importance` : null,
    { ...filterOf(query), metric, top },
    version,
  );
  if (!metric) return html`<${NoResults} sweep=${sweep} />`;
  const found = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Choice}
        label="Top group"
        name="top"
        value=${top}
        options=${["half", "10 %", "1 %"]}
        values=${["0.5", "0.1", "0.01"]}
      />
    </div>
    <${Status} answer=${answer} error=${error} />
    ${
      found &&
      html`
        <p class="quiet">
          Computed from ${counted(found.trials, "completed trial")} with ${metric}${" "}
          (${goalOf(schema, metric)}); the best ${count(found.top)} of them are the top group.
          Matching trials without ${metric}, excluded: ${count(found.left)}. The figures are
          deterministic. A conditional parameter is judged by the trials that have it.
        </p>
        ${
          found.unknown &&
          html`<p class="note">
            Left out because they have too many values that are not numbers:${" "}
            ${found.unknown.join(", ")}.
          </p>`
        }
        <${Parameters} list=${found.parameters} id=${sweep.id} metric=${metric} />
        <p class="quiet">
          Variance explained: the part of the variance of the metric's ranks that lies between the
          parameter's values, as ε² (main effect of functional ANOVA; Hutter, Hoos and Leyton-Brown
          2014). Share of the difference: how much the parameter's values in the top group differ
          from those of all trials, divided by the sum over all parameters (PED-ANOVA; Watanabe,
          Bansal and Hutter 2023). Both are 0 % unless they exceed what chance gives a parameter
          without effect. Many numbers are compared in up to 12 ranges. With fewer than five trials
          per value, there are too few trials to tell. To see interactions, use the heat map.
        </p>
      `
    }
  `;
}

/**
 * @param {object} props
 * @param {Importances["parameters"]} props.list
 * @param {string} props.id the sweep's
 * @param {string} props.metric
 */
function Parameters({ list, id, metric }) {
  if (list.length === 0) return html`<p>No parameter has several values among these trials.</p>`;
  const filter = filterOf(route.value.query);
  const columns = [
    "Parameter",
    "Variance explained by it alone",
    "Share of the difference of the top group (PED-ANOVA)",
    numeric("values or ranges"),
    numeric("trials"),
  ];
  return html`<${Table}
    label=${`Importance of the parameters for ${metric}`}
    columns=${columns}
  >
    ${list.map(({ parameter, variance, share, few, levels, trials }) => {
      const href = hrefOf(["sweep", id, "slice"], { ...filter, metric, parameter });
      return html`<tr key=${parameter}>
        <th scope="row"><a href=${href}>${parameter}</a></th>
        <td><${Bar} part=${variance} few=${few} fill=${colour(0)} /></td>
        <td><${Bar} part=${share} few=${few} fill=${colour(1)} /></td>
        <td class="num">${count(levels)}</td>
        <td class="num">${count(trials)}</td>
      </tr>`;
    })}
  <//>`;
}

/**
 * Bar draws a part of a whole, unless there are too few trials to tell.
 * @param {{part: number, few?: boolean, fill: string}} props
 */
export function Bar({ part, few, fill }) {
  if (few) return html`<span class="quiet">too few trials</span>`;
  const width = Math.max(220 * Math.min(part, 1), part > 0 ? 1.5 : 0);
  return html`
    <svg
      class="share"
      width="220"
      height="14"
      viewBox="0 0 220 14"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect width="220" height="14" rx="3" fill="var(--sunk)" />
      <rect width=${width} height="14" rx="3" fill=${fill} />
    </svg>${" "}
    <span>${(100 * part).toFixed(1)} %</span>
  `;
}
