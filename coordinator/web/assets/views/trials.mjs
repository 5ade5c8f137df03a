// The list of trials: the server pages, sorts and filters.
import { Actions } from "./actions.mjs";
import { SQL } from "./sql.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Pager } from "../components/pager.mjs";
import { PickBoxes, PickList } from "../components/pick-list.mjs";
import { State } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { SortHead, Table } from "../components/table.mjs";
import { Tags } from "../components/tags.mjs";
import { Value } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { filterOf, whereOf, without } from "../lib/filter.mjs";
import { counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, hrefWith, route } from "../lib/route.mjs";
import { goalOf, nameOf, ownName, severalValues } from "../lib/schema.mjs";

/** @import { Column, Page } from "../../api" */
/** @import { Order } from "../components/table.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

const pageSize = 50;

// Every row has these, whatever columns are chosen.
const fixedColumns = ["index", "state"];

/** @param {ViewProps} props */
export function Trials({ sweep, schema, version }) {
  const { query } = route.value;
  const columns = columnsOf(query, schema);
  const filter = filterOf(query);
  const offset = Number(query.get("offset") || 0);
  const order = orderOf(query, schema);
  const parameters = { ...filter, column: columns, ...order, offset, limit: pageSize };
  const { answer, error, stale } = useAnswer(`sweeps/${sweep.id}/trials`, parameters, version);
  const page = answer && answer.answer;
  const isFiltered = filter.where.length + filter.state.length > 0;
  const nothing = isFiltered
    ? html`<p>No trials match.</p>`
    : html`<${NoResults} sweep=${sweep} />`;
  return html`
    <div class="controls">
      <${Columns} schema=${schema} columns=${columns} />
      <${SQL} id=${sweep.id} parameters=${parameters} />
      ${page && html`<${Actions} sweep=${sweep} filter=${filter} version=${version} />`}
      <span class="quiet" aria-live="polite">
        ${page && `${counted(page.total, "trial")} ${page.total === 1 ? "matches" : "match"}`}
      </span>
    </div>
    <${Status} answer=${answer} error=${error} />
    ${page && page.rows.length === 0 && nothing}
    ${
      page &&
      page.rows.length > 0 &&
      html`
        <${Rows}
          page=${page}
          label=${`Trials of ${sweep.name}`}
          id=${sweep.id}
          schema=${schema}
          columns=${columns}
          order=${order}
          stale=${stale}
        />
        <${Pager} offset=${offset} total=${page.total} size=${pageSize} what="trial" />
      `
    }
  `;
}

/**
 * orderOf is the chosen order: by default the best trials come first.
 * @param {URLSearchParams} query
 * @param {Schema} schema
 * @returns {Order}
 */
function orderOf(query, schema) {
  const { mainMetric } = schema;
  const sort = query.get("sort") || mainMetric || fieldOf(schema, "index");
  const isDown = sort === mainMetric && goalOf(schema, sort) === "maximize";
  const descending = query.has("descending") ? query.get("descending") === "1" : isDown;
  return { sort, descending };
}

/**
 * columnsOf are the chosen columns: by default the objective, what varies, and the other metrics
 * with a goal.
 * @param {URLSearchParams} query
 * @param {Schema} schema
 */
function columnsOf(query, schema) {
  const chosen = query.getAll("column").filter((name) => schema.byName[name]);
  if (chosen.length > 0) return chosen;
  const withGoal = schema.metrics.filter((name) => schema.goals[name]);
  const metrics = [...new Set([schema.mainMetric, ...withGoal])].filter(Boolean);
  const shown = metrics.length ? metrics : schema.metrics;
  const [objective, ...others] = shown.slice(0, 5);
  const seconds = fieldOf(schema, "seconds");
  const time = schema.byName[seconds]?.low !== undefined && seconds;
  const tags = hasTags(schema) && fieldOf(schema, "tag");
  const all = [objective, ...schema.varying.slice(0, 10), ...others, time, tags];
  return all.filter((name) => !!name);
}

/**
 * fieldOf is the name of the column of a field of trials.
 * @param {Schema} schema
 * @param {string} own
 */
const fieldOf = (schema, own) => nameOf(schema.columns, "figure", own);

/**
 * isFixed says whether every row has a column.
 * @param {Column | undefined} column
 */
const isFixed = (column) => column?.kind === "figure" && fixedColumns.includes(ownName(column));

/**
 * hasTags says whether trials have tags.
 * @param {Schema} schema
 */
const hasTags = (schema) => {
  const column = schema.byName[fieldOf(schema, "tag")];
  return column?.kind === "figure" && column.distinct !== 0;
};

/**
 * @param {object} props
 * @param {Page} props.page
 * @param {string} props.label
 * @param {string} props.id the sweep's
 * @param {Schema} props.schema
 * @param {string[]} props.columns
 * @param {Order} props.order
 * @param {boolean} props.stale
 */
function Rows({ page, label, id, schema, columns, order, stale }) {
  /** @param {string} name */
  const sortBy = (name) => {
    const descending = order.sort === name ? !order.descending : schema.goals[name] === "maximize";
    changeRoute({ sort: name, descending: descending ? "1" : "0", offset: null }, true);
  };
  /**
   * @param {string} name
   * @param {string} [label]
   */
  const head = (name, label) =>
    html`<${SortHead}
      key=${name}
      name=${name}
      label=${label}
      isNumeric=${isNumeric(schema.byName[name])}
      order=${order}
      sortBy=${sortBy}
    />`;
  // The place of each column in a row's cells.
  const places = [...columns.entries()].filter(([, name]) => !isFixed(schema.byName[name]));
  const [index, state] = fixedColumns.map((own) => fieldOf(schema, own));
  const heads = [head(index, "trial"), head(state), ...places.map(([, name]) => head(name))];
  return html`<${Table} label=${label} columns=${heads} busy=${stale}>
    ${page.rows.map(
      (row) => html`<tr key=${row.index}>
        <td><a href=${hrefOf(["trial", id, row.index])}>${row.index}</a></td>
        <td><${State} state=${row.state} /></td>
        ${places.map(([place, name]) => {
          const column = schema.byName[name];
          const cell = row.cells[place];
          if (column?.kind === "figure" && ownName(column) === "tag")
            return html`<td key=${name}>
              <${Tags} tags=${cell ? String(cell).split(",") : []} hrefOf=${hrefOfTag} />
            </td>`;
          return html`<td key=${name} class=${isNumeric(column) ? "num" : ""}>
            <${Value} value=${cell} state=${row.state} kind=${column?.kind} />
          </td>`;
        })}
      </tr>`,
    )}
  <//>`;
}

/**
 * hrefOfTag is the address of the matching trials that have a tag.
 * @param {string} tag
 */
const hrefOfTag = (tag) => {
  const others = without(filterOf(route.value.query).where, "tag");
  return hrefWith({ where: [...others, whereOf("tag", tag)], offset: null });
};

/** @param {Column | undefined} column */
const isNumeric = (column) =>
  !!column &&
  !isFixed(column) &&
  (column.low !== undefined || column.kind === "metric" || ownName(column) === "seconds");

/** @param {{schema: Schema, columns: string[]}} props */
function Columns({ schema, columns }) {
  /** @type {[title: string, has: (c: Column) => boolean][]} */
  const kinds = [
    ["Varying parameters", (c) => c.kind === "parameter" && severalValues(c)],
    ["Metrics", (c) => c.kind === "metric"],
    ["Other", (c) => c.kind === "figure" && !isFixed(c) && c.distinct !== 0],
    ["Constant parameters", (c) => c.kind === "parameter" && !severalValues(c)],
  ];
  return html`<${PickList} summary=${`Columns (${columns.length})`}>
    ${kinds.map(([title, has]) => {
      const names = schema.columns.filter(has).map((c) => c.name);
      return (
        names.length > 0 &&
        html`
          <h3>${title}</h3>
          <${PickBoxes}
            names=${names}
            chosen=${columns}
            choose=${(/** @type {string[]} */ column) => changeRoute({ column })}
          />
        `
      );
    })}
    <p><button onClick=${() => changeRoute({ column: null })}>Reset</button></p>
  <//>`;
}
