// Groups of trials that differ only in the seed: mean, deviation and best.
import { Excluded } from "../components/excluded.mjs";
import { Choice } from "../components/choice.mjs";
import { GroupBy } from "../components/group-by.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Pager } from "../components/pager.mjs";
import { Status } from "../components/status.mjs";
import { SortHead, Table, numeric } from "../components/table.mjs";
import { None, Value } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { bestOf } from "../lib/cells.mjs";
import { filterOf, whereOfGroup } from "../lib/filter.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { distinguishing, goalOf, metricOf } from "../lib/schema.mjs";

/** @import { Goal, GroupPage, Statistics } from "../../api" */
/** @import { Order } from "../components/table.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

const pageSize = 50;

/** @param {ViewProps} props */
export function Groups({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const goal = goalOf(schema, metric);
  const by = query.getAll("by").filter((name) => schema.byName[name]);
  const offset = Number(query.get("offset") || 0);
  const order = {
    sort: query.get("order") || "mean",
    descending: query.has("down") ? query.get("down") === "1" : goal === "maximize",
  };
  const withGoal = schema.metrics.filter((name) => schema.goals[name] && name !== metric);
  const otherMetrics = withGoal.slice(0, 3);
  const { answer, error, stale } = useAnswer(
    metric ? `sweeps/${sweep.id}/groups` : null,
    {
      ...filterOf(query),
      by,
      metric: [metric, ...otherMetrics],
      ...order,
      offset,
      limit: pageSize,
    },
    version,
  );
  if (!metric) return html`<${NoResults} sweep=${sweep} />`;
  const page = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${GroupBy} schema=${schema} by=${by} />
      <span class="quiet">${goal}</span>
      <span class="quiet" aria-live="polite">
        ${page && `${counted(page.total, "group")}, ${counted(page.trials, "trial")}`}
      </span>
    </div>
    <${Status} answer=${answer} error=${error} />
    ${
      page &&
      html`
        <p class="quiet">
          Mean ± standard deviation over the completed trials of a group. All other trials are
          excluded from means and counted separately.
        </p>
        <${Rows}
          page=${page}
          id=${sweep.id}
          schema=${schema}
          metric=${metric}
          goal=${goal}
          otherMetrics=${otherMetrics}
          order=${order}
          stale=${stale}
        />
        <${Pager} offset=${offset} total=${page.total} size=${pageSize} what="group" />
      `
    }
  `;
}

/**
 * @param {object} props
 * @param {GroupPage} props.page
 * @param {string} props.id the sweep's
 * @param {Schema} props.schema
 * @param {string} props.metric
 * @param {Goal} props.goal
 * @param {string[]} props.otherMetrics
 * @param {Order} props.order
 * @param {boolean} props.stale
 */
function Rows({ page, id, schema, metric, goal, otherMetrics, order, stale }) {
  const shown = distinguishing(page.by, schema);
  const means = page.groups.map((g) => g.metrics[0].mean).filter((mean) => mean !== null);
  const bestMean = goal === "maximize" ? Math.max(...means) : Math.min(...means);
  /**
   * @param {string} name
   * @param {string} label
   * @param {boolean} descending whether it is sorted so at first
   */
  const head = (name, label, descending) =>
    html`<${SortHead}
      key=${name}
      name=${name}
      label=${label}
      isNumeric=${!page.by.includes(name)}
      order=${order}
      sortBy=${() => {
        const down = order.sort === name ? !order.descending : descending;
        changeRoute({ order: name, down: down ? "1" : "0", offset: null }, true);
      }}
    />`;
  const columns = [
    head("mean", metric + " mean ± sd", goal === "maximize"),
    head("best", "best", goal === "maximize"),
    ...shown.map((place) => head(page.by[place], page.by[place], false)),
    head("count", "trials", true),
    "excluded",
    ...otherMetrics.map(numeric),
    "curves",
  ];
  return html`<${Table} label="Groups" columns=${columns} busy=${stale}>
    ${page.groups.map((group) => {
      const [statistics, ...others] = group.metrics;
      const { mean } = statistics;
      const where = whereOfGroup(page.by, group);
      return html`<tr key=${group.first}>
        <td class=${mean !== null && mean === bestMean ? "num best" : "num"}>
          <${Mean} statistics=${statistics} />
        </td>
        <td class="num"><${Best} id=${id} statistics=${statistics} goal=${goal} /></td>
        ${shown.map((place, i) => {
          const value = group.values[place];
          if (i > 0) return html`<td key=${place}><${Value} value=${value} /></td>`;
          return html`<td key=${place}>
            <a href=${hrefOf(["sweep", id, "trials"], { where })} title="These trials">
              ${value === null ? html`<${None} />` : number(value, 6)}
            </a>
          </td>`;
        })}
        <td class="num">${count(group.count)}</td>
        <td><${Excluded} states=${group.states} n=${statistics.n} /></td>
        ${others.map((one, i) => html`<td key=${i} class="num"><${Mean} statistics=${one} /></td>`)}
        <td><a href=${hrefOf(["sweep", id, "curves"], { where })}>curves</a></td>
      </tr>`;
    })}
  <//>`;
}

/** @param {{id: string, statistics: Statistics, goal: Goal}} props */
function Best({ id, statistics, goal }) {
  const { best } = statistics;
  if (best < 0) return html`<${None} />`;
  return html`<a href=${hrefOf(["trial", id, best])}>${number(bestOf(statistics, goal), 5)}</a>`;
}

/** @param {{statistics: Statistics}} props */
export function Mean({ statistics: { mean, sd, n } }) {
  if (mean === null) return html`<${None} />`;
  return html`<span title=${`${exact(mean)} over ${count(n)}`}>
    ${number(mean, 5)}
    ${sd !== null && ` ± ${number(sd, 2)}`}
    <span class="quiet"> (${count(n)})</span>
  </span>`;
}
