// One sweep: its state, the filter that its views share, and the views.
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { liveSweeps, resets } from "../lib/live.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { schemaOf } from "../lib/schema.mjs";
import { partsOf, states } from "../lib/states.mjs";
import { Curves } from "../views/curves.mjs";
import { File } from "../views/file.mjs";
import { Groups } from "../views/groups.mjs";
import { Heat } from "../views/heat.mjs";
import { Importance } from "../views/importance.mjs";
import { Parallel } from "../views/parallel.mjs";
import { Slice } from "../views/slice.mjs";
import { Trials } from "../views/trials.mjs";

const views = {
  trials: { title: "Trials", view: Trials },
  groups: { title: "Groups", view: Groups },
  curves: { title: "Curves", view: Curves },
  parallel: { title: "Parallel coordinates", view: Parallel },
  slice: { title: "One parameter", view: Slice },
  heat: { title: "Two parameters", view: Heat },
  importance: { title: "Importance", view: Importance },
  file: { title: "File", view: File },
};

// keptNames are the parts of the address that stay from view to view.
const keptNames = ["state", "where", "metric"];

export function Sweep() {
  const { path, query } = route.value;
  const id = path[1];
  const here = views[path[2]] ? path[2] : "trials";
  const own = useRef(id); // the address may have a name in its place
  // How far it is comes with the changes; the rest of it changes when it is extended.
  const told = liveSweeps.value[own.current];
  const { answer: shown, error } = useAnswer(
    "sweeps/" + encodeURIComponent(id),
    {},
    `${resets.value} ${told ? told.points : ""}`,
  );
  if (shown) own.current = shown.id;
  const version = useVersion(own.current);
  const { answer: columns, error: unread } = useAnswer(
    `sweeps/${encodeURIComponent(id)}/columns`,
    {},
    version,
  );
  if (!shown)
    return html`
      <h1>Sweep ${id}</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Loading} />`}
    `;
  const sweep = liveSweeps.value[shown.id] ? { ...shown, ...liveSweeps.value[shown.id] } : shown;
  const kept = Object.fromEntries(keptNames.map((name) => [name, query.getAll(name)]));
  const View = views[here].view;
  const schema = schemaOf(sweep, columns ? columns.answer : [], columns && !columns.read.complete);
  const parts = partsOf(sweep.progress);
  return html`
    <h1>
      ${sweep.name} <small class="mono">${sweep.id}</small> <${State} state=${sweep.state} />
    </h1>
    <${Problem} error=${error} />
    ${sweep.reason && html`<p class="note">${sweep.reason}</p>`}
    <${Progress} progress=${sweep.progress} />
    <dl class="stats">
      ${states
        .filter((s) => parts[s] > 0)
        .map(
          (s) => html`<div key=${s}>
            <dt><${State} state=${s} /></dt>
            <dd>${count(parts[s])}</dd>
          </div>`,
        )}
      <div>
        <dt>trials</dt>
        <dd>${count(sweep.points)}</dd>
      </div>
      ${
        sweep.progress.reproducibility_faults > 0 &&
        html`<div>
          <dt>repeats with other bits</dt>
          <dd>${count(sweep.progress.reproducibility_faults)}</dd>
        </div>`
      }
    </dl>
    <nav class="tabs" aria-label="Views of the sweep">
      ${Object.entries(views).map(
        ([name, v]) => html`<a
          key=${name}
          href=${hrefOf(name === "trials" ? ["sweep", id] : ["sweep", id, name], kept)}
          aria-current=${name === here ? "page" : undefined}
        >
          ${v.title}
        </a>`,
      )}
    </nav>
    ${here !== "file" && html`<${Filter} schema=${schema} sweep=${sweep} />`}
    ${
      columns || here === "file"
        ? html`<${View} key=${here} sweep=${sweep} schema=${schema} version=${version} />`
        : unread
          ? html`<${Problem} error=${unread} />`
          : html`<${Loading} />`
    }
  `;
}

function Filter({ schema }) {
  const { query } = route.value;
  const where = query.getAll("where").join(" and ");
  const chosen = query.getAll("state");
  const [text, set] = useState(where);
  useEffect(() => set(where), [where]);
  const apply = (value) =>
    changeRoute(
      {
        where: value
          .split(/ and /)
          .map((s) => s.trim())
          .filter(Boolean),
        offset: null,
      },
      true,
    );
  return html`<form
    class="controls"
    role="search"
    onSubmit=${(e) => {
      e.preventDefault();
      apply(text);
    }}
  >
    <label class="where">
      <span class="visually-hidden">Filter</span>
      <input
        name="where"
        list="columns"
        value=${text}
        placeholder="Filter: lr<0.01 and model=lstm"
        onInput=${(e) => set(e.target.value)}
        onChange=${(e) => apply(e.target.value)}
        spellcheck="false"
        autocomplete="off"
      />
    </label>
    <datalist id="columns">
      ${schema.columns.map((c) => html`<option key=${c.name} value=${c.name} />`)}
    </datalist>
    <fieldset>
      <legend class="visually-hidden">States</legend>
      ${states.map(
        (s) => html`<button
          type="button"
          key=${s}
          class="chip"
          aria-pressed=${chosen.includes(s)}
          onClick=${() =>
            changeRoute(
              {
                state: chosen.includes(s) ? chosen.filter((x) => x !== s) : [...chosen, s],
                offset: null,
              },
              true,
            )}
        >
          ${s}
        </button>`,
      )}
    </fieldset>
    ${
      (where || chosen.length > 0) &&
      html`<button
        type="button"
        onClick=${() => changeRoute({ where: null, state: null, offset: null }, true)}
      >
        Clear
      </button>`
    }
  </form>`;
}
