// The papers' tables and figures, from the newest sweep that has rows for them.
import { useEffect, useState } from "preact/hooks";
import { Figures } from "./figures.mjs";
import { Choice } from "../components/choice.mjs";
import { Download } from "../components/download.mjs";
import { Loading } from "../components/loading.mjs";
import { Problem } from "../components/problem.mjs";
import { Table as PlainTable } from "../components/table.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { timeOfDay } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { session } from "../lib/request.mjs";
import { changeRoute, hrefOf, queryOf, route } from "../lib/route.mjs";

/** @import { Preset, SweepItem, Table, TableAnswer } from "../../api" */
/** @import { Parameters } from "../lib/route.mjs" */

/** @type {Record<string, string>} */
const titles = { ucr: "UCR data sets", tasks: "other data sets and tasks" };

// The formats of a downloaded table, and the extensions of their files.
const formats = [
  ["csv", "CSV", "csv"],
  ["json", "JSON", "json"],
  ["latex", "LaTeX", "tex"],
  ["markdown", "Markdown", "md"],
  ["text", "text", "txt"],
];

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
  const version = useVersion("all");
  const { answer: known, error } = useAnswer("presets", {}, version);
  const { answer: all } = useAnswer("sweeps", { limit: 100 });
  if (!known) return error ? html`<${Problem} error=${error} />` : html`<${Loading} />`;
  const chosen = query.get("kind") || "ucr";
  const preset = known.presets.find(({ name }) => name === chosen);
  const kind = preset || chosen in titles ? chosen : "ucr";
  const sweep = query.getAll("sweep");
  return html`<${PaperResults}
    kind=${kind}
    preset=${preset}
    presets=${known.presets}
    sweeps=${all && all.sweeps}
    sweep=${sweep}
    version=${version}
  />`;
}

/**
 * PaperResults shows a table and the figures of its sweep.
 * @param {object} props
 * @param {string} props.kind the table
 * @param {Preset | undefined} props.preset the experiment that it is of
 * @param {Preset[]} props.presets
 * @param {SweepItem[] | null} props.sweeps
 * @param {string[]} props.sweep the chosen sweeps
 * @param {number} props.version
 */
function PaperResults({ kind, preset, presets, sweeps, sweep, version }) {
  const selects = !preset || preset.selects;
  const select = selects ? selectionOf(route.value.query) : "mean";
  const ensemble = isEnsemble(select);
  const [counted, setCounted] = useState(0);
  const hasTable = !preset || preset.table;
  const parameters = { select: selects && select, sweep };
  // Counting votes may take seconds: it is done when it is asked for, not at each change.
  const { answer, error, stale, behind } = useAnswer(
    hasTable ? `tables/${kind}` : null,
    parameters,
    ensemble ? "counted " + counted : version,
  );
  const [answeredAt, setAnsweredAt] = useState(new Date());
  useEffect(() => setAnsweredAt(new Date()), [answer]);
  const counting = hasTable && ensemble && behind;
  const content = () => {
    if (!hasTable) return null;
    if (counting)
      return html`<p class="note" role="status">
        Counting votes from the class probabilities of every replicate. This takes a few seconds
        if there are many; other pages stay responsive.
      </p>`;
    if (error) return html`<${Problem} error=${error} />`;
    if (!answer || stale) return html`<${Loading} />`;
    if (!answer.table)
      return html`<p>
        No completed trial belongs in this table.
        ${!preset && ` Its rows come from trials on ${titles[kind]} with the parameters`}
        ${!preset && html` <code>dataset</code> and <code>model</code>.`}
      </p>`;
    return html`
      <p class="quiet">
        ${answer.table.title}. From ${sweepLinks(answer.sweeps)}. Bold as the paper would print it.
        ${ensemble && ` Counted at ${timeOfDay(answeredAt)}.`}
      </p>
      <${PaperTable} table=${answer.table} rules=${answer.rules} />
      <${Downloads} kind=${kind} parameters=${parameters} />
    `;
  };
  const named = Object.fromEntries(presets.map(({ name, title }) => [name, `${name}: ${title}`]));
  const kinds = { ...titles, ...named };
  const drawn = sweep[0] || (preset ? preset.sweeps[0] : newestOf(answer, sweeps));
  return html`
    <h1>Tables and figures of the papers</h1>
    <div class="controls">
      <${Choice}
        label="Table"
        name="kind"
        value=${kind}
        options=${Object.values(kinds)}
        values=${Object.keys(kinds)}
      />
      ${hasTable && selects && html`<${Selection} select=${select} />`}
      ${
        hasTable &&
        ensemble &&
        html`<button disabled=${counting} onClick=${() => setCounted(counted + 1)}>
          Recount
        </button>`
      }
      ${sweeps && html`<${SweepChoice} sweeps=${sweeps} chosen=${sweep[0]} />`}
    </div>
    ${content()}
    <${Figures} id=${drawn} preset=${preset} />
  `;
}

/**
 * Downloads links the table's files.
 * @param {{kind: string, parameters: Parameters}} props
 */
function Downloads({ kind, parameters }) {
  const [failure, setFailure] = useState(/** @type {Error | null} */ (null));
  return html`
    <${Problem} error=${failure} />
    <p class="controls">
      ${formats.map(
        ([format, label, extension]) => html`<${Download}
          key=${format}
          label=${"Download as " + label}
          address=${`api/tables/${kind}` + queryOf({ ...parameters, format })}
          name=${`${kind}.${extension}`}
          failed=${setFailure}
        />`,
      )}
    </p>
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
