// The papers' tables, from the newest sweep that has rows for them.
import { useEffect, useState } from "preact/hooks";
import { Figures } from "./figures.mjs";
import { Choice } from "../components/choice.mjs";
import { Loading } from "../components/loading.mjs";
import { Problem } from "../components/problem.mjs";
import { Table as PlainTable } from "../components/table.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { timeOfDay } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { session } from "../lib/request.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { chosenOf } from "../lib/schema.mjs";

/** @import { SweepItem, Table, TableAnswer } from "../../api" */

/** @type {Record<string, {title: string, trials: string}>} */
const kinds = {
  ucr: { title: "UCR data sets (Table 4)", trials: "UCR data sets" },
  tasks: { title: "other tasks", trials: "other data sets and tasks" },
};

/** @type {Record<string, string>} */
const selections = {
  mean: "mean over the replicates of the best grid point",
  single: "best single trial",
  ensemble: "ensemble of the replicates",
  "ensemble:auto": "ensemble of as many grid points as validation selects",
};

/** @param {string} selection */
const isEnsemble = (selection) => selection.startsWith("ensemble");

export function Tables() {
  const { query } = route.value;
  const kind = chosenOf(query, "kind", Object.keys(kinds), "ucr");
  const select = selectionOf(query);
  const ensemble = isEnsemble(select);
  const sweep = query.getAll("sweep");
  const version = useVersion("all");
  const [counted, setCounted] = useState(0);
  // Counting votes may take seconds: it is done when it is asked for, not at each change.
  const { answer, error, behind } = useAnswer(
    `tables/${kind}`,
    { select, sweep },
    ensemble ? "counted " + counted : version,
  );
  const { answer: all } = useAnswer("sweeps", { limit: 100 });
  const [answeredAt, setAnsweredAt] = useState(new Date());
  useEffect(() => setAnsweredAt(new Date()), [answer]);
  const counting = ensemble && behind;
  const content = () => {
    if (counting)
      return html`<p class="note" role="status">
        Counting votes from the class probabilities of every replicate. This takes a few seconds
        if there are many; other pages stay responsive.
      </p>`;
    if (error) return html`<${Problem} error=${error} />`;
    if (!answer) return html`<${Loading} />`;
    if (!answer.table)
      return html`<p>
        No completed trial belongs in this table. Its rows come from trials on${" "}
        ${kinds[kind].trials} with the parameters <code>dataset</code> and <code>model</code>.
      </p>`;
    const { table, sweeps, rules } = answer;
    return html`
      <p class="quiet">
        ${table.title}. From ${sweepLinks(sweeps)}. Bold as the paper would print it.
        ${ensemble && ` Counted at ${timeOfDay(answeredAt)}.`}
      </p>
      <${PaperTable} table=${table} rules=${rules} />
    `;
  };
  return html`
    <h1>Tables and figures of the papers</h1>
    <div class="controls">
      <${Choice}
        label="Table"
        name="kind"
        value=${kind}
        options=${Object.values(kinds).map(({ title }) => title)}
        values=${Object.keys(kinds)}
      />
      <${Selection} select=${select} />
      ${
        ensemble &&
        html`<button disabled=${counting} onClick=${() => setCounted(counted + 1)}>
          Recount
        </button>`
      }
      ${all && html`<${SweepChoice} sweeps=${all.sweeps} chosen=${sweep[0]} />`}
    </div>
    ${content()}
    <${Figures} id=${sweep[0] || newestOf(answer, all && all.sweeps)} />
  `;
}

/**
 * selectionOf returns what the table shows of each group. Votes need an artifact store, which
 * has the probabilities.
 * @param {URLSearchParams} query
 */
function selectionOf(query) {
  const chosen = query.get("select") || "mean";
  return isEnsemble(chosen) && !session.value.artifacts ? "mean" : chosen;
}

/**
 * newestOf returns the sweep that the table is of, or else the newest, once the table is there.
 * @param {TableAnswer | null} answer
 * @param {SweepItem[] | null} all
 */
function newestOf(answer, all) {
  if (!answer) return undefined;
  return answer.sweeps[0] || (all && all[0] && all[0].id) || undefined;
}

/** @param {{select: string}} props */
function Selection({ select }) {
  // ensemble:3 counts the votes of the three best grid points.
  const best = select.split(":")[1] || "1";
  const counts = isEnsemble(select) && best !== "auto";
  const names = Object.keys(selections).filter(
    (name) => session.value.artifacts || !isEnsemble(name),
  );
  return html`
    <${Choice}
      label="Result per group"
      name="select"
      value=${counts ? "ensemble" : select}
      options=${names.map((name) => selections[name])}
      values=${names}
    />
    ${
      counts &&
      html`<label>
        of the best${" "}
        <input
          type="number"
          min="1"
          max="99"
          value=${best}
          onChange=${(e) => {
            const points = Number(e.target.value);
            changeRoute({ select: points > 1 ? "ensemble:" + points : "ensemble" }, true);
          }}
        />${" "}
        grid points
      </label>`
    }
  `;
}

/** @param {{sweeps: SweepItem[], chosen: string | undefined}} props */
function SweepChoice({ sweeps, chosen }) {
  return html`<label>
    Sweep${" "}
    <select
      value=${chosen || ""}
      onChange=${(e) => changeRoute({ sweep: e.target.value }, true)}
    >
      <option value="">newest sweep with rows</option>
      ${sweeps.map(({ id, name }) => html`<option key=${id} value=${id}>${name} ${id}</option>`)}
    </select>
  </label>`;
}

/** @param {string[]} ids */
const sweepLinks = (ids) =>
  ids.map(
    (id, i) => html`
      ${i > 0 && ", "}
      <a key=${id} href=${hrefOf(["sweep", id])} class="mono">${id}</a>
    `,
  );

/**
 * @param {object} props
 * @param {Table} props.table
 * @param {number[]} props.rules the rows before which a line is drawn
 */
function PaperTable({ table: { title, columns, rows, notes }, rules }) {
  const heads = columns.map(
    ({ Name: name, Right: right }, i) => html`<th key=${i} scope="col" class=${right ? "num" : ""}>
      ${name || html`<span class="visually-hidden">${i === 0 ? "row" : "remark"}</span>`}
    </th>`,
  );
  return html`
    <${PlainTable} label=${title} columns=${heads}>
      ${rows.map(
        (row, i) => html`<tr key=${i} class=${rules.includes(i) ? "rule" : ""}>
          ${row.map(({ Text: text, Bold: bold }, k) => {
            const names = [columns[k].Right && "num", bold && "best"].filter(Boolean).join(" ");
            return html`<td key=${k} class=${names}>${text}</td>`;
          })}
        </tr>`,
      )}
    <//>
    ${
      notes &&
      notes.length > 0 &&
      html`<ol class="quiet">
        ${notes.map(
          ({ Mark: mark, Text: text }, i) => html`<li key=${i}>${mark && mark + " "}${text}</li>`,
        )}
      </ol>`
    }
  `;
}
