// One sweep: its state, the filter that its views share, and the views.
import { useEffect, useRef, useState } from "preact/hooks";
import { Loading } from "../components/loading.mjs";
import { Notes } from "../components/notes.mjs";
import { toggled } from "../components/pick-list.mjs";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { Outcome, State } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { Views } from "../components/views.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { conditionsOf, filterOf } from "../lib/filter.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { useCurrentInView } from "../lib/in-view.mjs";
import { liveSweeps, resets } from "../lib/live.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { schemaOf } from "../lib/schema.mjs";
import { partsOf, states } from "../lib/states.mjs";
import { Curves } from "../views/curves.mjs";
import { File } from "../views/file.mjs";
import { Groups } from "../views/groups.mjs";
import { Heat } from "../views/heat.mjs";
import { Importance } from "../views/importance.mjs";
import { Overview } from "../views/overview.mjs";
import { Parallel } from "../views/parallel.mjs";
import { Slice } from "../views/slice.mjs";
import { Trials } from "../views/trials.mjs";

/** @import { SweepItem } from "../../api" */
/** @import { Element } from "../lib/html.mjs" */
/** @import { Schema, ViewProps } from "../lib/schema.mjs" */

/** @type {Record<string, {title: string, view: (props: ViewProps) => Element}>} */
const views = {
  overview: { title: "Overview", view: Overview },
  trials: { title: "Trials", view: Trials },
  groups: { title: "Groups", view: Groups },
  curves: { title: "Curves", view: Curves },
  parallel: { title: "Parallel coordinates", view: Parallel },
  slice: { title: "Slice", view: Slice },
  heat: { title: "Heat map", view: Heat },
  importance: { title: "Importance", view: Importance },
  file: { title: "File", view: File },
};

// The parameters of the address that stay from view to view.
const sharedParameters = ["state", "where", "metric"];

export function Sweep() {
  const { path } = route.value;
  const name = path[1];
  const view = views[path[2]] ? path[2] : "overview";
  const id = useRef(name); // the address may have a name in the id's place
  // Progress comes with the changes; the rest of a sweep changes when it is extended.
  const reported = liveSweeps.value[id.current];
  const { answer: loaded, error } = useAnswer(
    `sweeps/${encodeURIComponent(name)}`,
    {},
    `${resets.value} ${reported ? reported.points : ""}`,
  );
  if (loaded) id.current = loaded.id;
  const version = useVersion(id.current);
  const { answer: columns, error: columnsError } = useAnswer(
    `sweeps/${encodeURIComponent(name)}/columns`,
    {},
    version,
  );
  if (!loaded)
    return html`
      <h1>Sweep ${name}</h1>
      <${Status} answer=${null} error=${error} />
    `;
  const sweep = { ...loaded, ...liveSweeps.value[loaded.id] };
  const reading = columns !== null && !columns.read.complete;
  const schema = schemaOf(sweep, columns ? columns.answer : [], reading);
  const content = () => {
    if (columns || view === "file") {
      const View = views[view].view;
      return html`<${View} key=${view} sweep=${sweep} schema=${schema} version=${version} />`;
    }
    return columnsError ? html`<${Problem} error=${columnsError} />` : html`<${Loading} />`;
  };
  return html`
    <h1>
      ${sweep.name} <small class="mono">${sweep.id}</small> <${Outcome} sweep=${sweep} />
    </h1>
    <${Problem} error=${error} />
    <${Notes}
      key=${loaded.id}
      sweep=${loaded.id}
      what="sweep"
      hrefOf=${(/** @type {string} */ tag) => hrefOf([], { tag })}
      known=${[loaded, liveSweeps.value[loaded.id]]}
    />
    ${sweep.purpose && html`<p class="quiet">${asker(sweep)}${sweep.purpose}</p>`}
    ${sweep.reason && html`<p class="note">${sweep.reason}</p>`}
    <${Progress} progress=${sweep.progress} />
    <div class="facts">
      <${Counts} sweep=${sweep} />
      <${Views} sweep=${sweep.id} />
    </div>
    <${Tabs} name=${name} view=${view} />
    ${view !== "file" && view !== "overview" && html`<${Filter} schema=${schema} />`}
    ${content()}
  `;
}

/** @param {SweepItem} sweep */
const asker = ({ asked_by: by }) => (by ? `For ${by}: ` : "");

/** @param {{sweep: SweepItem}} props */
function Counts({ sweep: { progress, points } }) {
  const parts = partsOf(progress);
  const faults = progress.reproducibility_faults;
  return html`<dl class="stats">
    ${states
      .filter((state) => parts[state] > 0)
      .map(
        (state) => html`<div key=${state}>
          <dt><${State} state=${state} /></dt>
          <dd>${count(parts[state])}</dd>
        </div>`,
      )}
    <div>
      <dt>trials</dt>
      <dd>${count(points)}</dd>
    </div>
    ${
      faults > 0 &&
      html`<div>
        <dt>reproducibility faults</dt>
        <dd>${count(faults)}</dd>
      </div>`
    }
  </dl>`;
}

/** @param {{name: string, view: string}} props */
function Tabs({ name, view }) {
  const { query } = route.value;
  const row = useCurrentInView(view);
  const shared = Object.fromEntries(sharedParameters.map((one) => [one, query.getAll(one)]));
  return html`<nav class="tabs" aria-label="Views of the sweep" ref=${row}>
    ${Object.entries(views).map(([key, { title }]) => {
      const path = key === "overview" ? ["sweep", name] : ["sweep", name, key];
      const current = key === view ? "page" : undefined;
      return html`<a key=${key} href=${hrefOf(path, shared)} aria-current=${current}>${title}</a>`;
    })}
  </nav>`;
}

/** @param {{schema: Schema}} props */
function Filter({ schema }) {
  const filter = filterOf(route.value.query);
  const where = filter.where.join(" and ");
  const [text, setText] = useState(where);
  useEffect(() => setText(where), [where]);
  /** @param {string} value */
  const apply = (value) => {
    changeRoute({ where: conditionsOf(value), offset: null }, true);
  };
  const clear = () => changeRoute({ where: null, state: null, offset: null }, true);
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    apply(text);
  };
  return html`<form class="controls" role="search" onSubmit=${submit}>
    <label class="where">
      <span class="visually-hidden">Filter</span>
      <input
        name="where"
        list="columns"
        value=${text}
        placeholder="Filter: lr<0.01 and model=lstm"
        onInput=${(e) => setText(e.target.value)}
        onChange=${(e) => apply(e.target.value)}
        spellcheck="false"
        autocomplete="off"
      />
    </label>
    <datalist id="columns">
      ${schema.columns.map(({ name }) => html`<option key=${name} value=${name} />`)}
    </datalist>
    <fieldset>
      <legend class="visually-hidden">States</legend>
      ${states.map(
        (state) => html`<button
          type="button"
          key=${state}
          class="chip"
          aria-pressed=${filter.state.includes(state)}
          onClick=${() => changeRoute({ state: toggled(filter.state, state), offset: null }, true)}
        >
          ${state}
        </button>`,
      )}
    </fieldset>
    ${
      (where || filter.state.length > 0) &&
      html`<button type="button" onClick=${clear}>Clear</button>`
    }
  </form>`;
}
