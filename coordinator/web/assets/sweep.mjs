// One sweep: its state, the filter that all its views share, and the views.
import {
  html,
  useAnswer,
  useTime,
  hrefOf,
  route,
  change,
  live,
  missed,
  count,
  number,
  when,
  State,
  Progress,
  Problem,
  Waiting,
  partsOf,
  states,
  useState,
  useEffect,
  useRef,
  session,
  post,
  Dialog,
} from "./core.mjs";
import { Trials } from "./trials.mjs";
import { Groups } from "./groups.mjs";
import { Curves } from "./curves.mjs";
import { Parallel, Slice, Heat, Importance } from "./pictures.mjs";

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

// shared are the parts of the address that stay from view to view.
const shared = ["state", "where", "metric"];

export function Sweep() {
  const { path, query } = route.value;
  const id = path[1];
  const here = views[path[2]] ? path[2] : "trials";
  const own = useRef(id); // the address may have a name in its place
  // How far it is comes with the changes; the rest of it changes when it is extended.
  const told = live.value[own.current];
  const { answer: shown, error } = useAnswer(
    "sweeps/" + encodeURIComponent(id),
    {},
    `${missed.value} ${told ? told.points : ""}`,
  );
  if (shown) own.current = shown.id;
  const time = useTime(own.current);
  const { answer: columns, error: unread } = useAnswer(
    `sweeps/${encodeURIComponent(id)}/columns`,
    {},
    time,
  );
  if (!shown)
    return html`
      <h1>Sweep ${id}</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Waiting} />`}
    `;
  const sweep = live.value[shown.id] ? { ...shown, ...live.value[shown.id] } : shown;
  const kept = Object.fromEntries(shared.map((name) => [name, query.getAll(name)]));
  const View = views[here].view;
  const facts = describe(sweep, columns ? columns.answer : [], columns && !columns.read.complete);
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
    ${here !== "file" && html`<${Filter} facts=${facts} sweep=${sweep} />`}
    ${
      columns || here === "file"
        ? html`<${View} key=${here} sweep=${sweep} facts=${facts} time=${time} />`
        : unread
          ? html`<${Problem} error=${unread} />`
          : html`<${Waiting} />`
    }
  `;
}

// Extend adds the points of an edited sweep file.
function Extend({ sweep }) {
  const [open, set] = useState(false);
  const [done, told] = useState(null);
  const [failed, fail] = useState(null);
  const last = sweep.grids[sweep.grids.length - 1].source;
  const submit = async (e) => {
    e.preventDefault();
    fail(null);
    try {
      told(
        await post(`sweeps/${sweep.id}/extend`, {
          source: new FormData(e.target).get("source"),
        }),
      );
    } catch (error) {
      fail(error);
    }
  };
  return html`
    <p class="controls">
      <button
        onClick=${() => {
          set(true);
          told(null);
          fail(null);
        }}
      >
        Extend …
      </button>
    </p>
    ${
      open &&
      html`<${Dialog} title="Extend the sweep" close=${() => set(false)}>
        <${Problem} error=${failed} />
        ${
          done
            ? html`<p role="status">
              ${count(done.points)} points were added; those that have results are not
              trained again.
            </p>`
            : !session.value.acts
              ? html`<p>This needs a token that may act: sign in first.</p>`
              : html`<form onSubmit=${submit}>
                <p>
                  Give the file further values. Its points are added to the sweep; those that
                  it has results for are not trained again.
                </p>
                <p>
                  <label>
                    Sweep file
                    <br />
                    <textarea
                      name="source"
                      rows="16"
                      cols="76"
                      class="mono"
                      spellcheck="false"
                      defaultValue=${last}
                    >
                      ${last}
                    </textarea>
                  </label>
                </p>
                <p class="controls"><button class="primary">Extend the sweep</button></p>
              </form>`
        }
      <//>`
    }
  `;
}

// describe gathers what the views need to know of a sweep's columns. While trials are
// being read, what the sweep file varies counts as varying: columns then stay.
function describe(sweep, columns, reading) {
  const metrics = columns.filter((c) => c.kind === "metric").map((c) => c.name);
  const goals = {};
  for (const m of sweep.metrics) if (m.goal) goals[m.name] = m.goal;
  if (sweep.select.by && sweep.select.goal) goals[sweep.select.by] = sweep.select.goal;
  // What has one value where it is there at all follows from other parameters.
  const several = new Set(
    reading
      ? sweep.grids.flatMap((g) => g.axes.filter((a) => a.length > 1).flatMap((a) => a.names))
      : [],
  );
  const varying = columns
    .filter(
      (c) => c.kind === "parameter" && (several.has(c.name) || (c.varies && c.distinct !== 1)),
    )
    .map((c) => c.name);
  const first =
    [sweep.select.by, ...sweep.metrics.filter((m) => m.goal).map((m) => m.name), ...metrics].find(
      (m) => metrics.includes(m),
    ) ||
    metrics[0] ||
    "";
  const order = [];
  for (const g of sweep.grids)
    for (const a of g.axes) for (const n of a.names) if (!order.includes(n)) order.push(n);
  varying.sort(
    (a, b) => (order.indexOf(a) + 1 || 1e9) - (order.indexOf(b) + 1 || 1e9) || (a < b ? -1 : 1),
  );
  return {
    columns,
    metrics,
    goals,
    varying,
    first,
    byName: Object.fromEntries(columns.map((c) => [c.name, c])),
  };
}

export const goalOf = (facts, metric) => facts.goals[metric] || "minimize";

// filterOf is the filter of the address, as requests have it.
export function filterOf(query) {
  return { state: query.getAll("state"), where: query.getAll("where") };
}

function Filter({ facts }) {
  const { query } = route.value;
  const where = query.getAll("where").join(" and ");
  const chosen = query.getAll("state");
  const [text, set] = useState(where);
  useEffect(() => set(where), [where]);
  const apply = (value) =>
    change(
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
      ${facts.columns.map((c) => html`<option key=${c.name} value=${c.name} />`)}
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
            change(
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
        onClick=${() => change({ where: null, state: null, offset: null }, true)}
      >
        Clear
      </button>`
    }
  </form>`;
}

// Choice is a labelled list of names that stands in the address.
export function Choice({ label, name, value, options, values }) {
  return html`<label>
    ${label}${" "}
    <select
      value=${value}
      onChange=${(e) => change({ [name]: e.target.value, offset: null }, true)}
    >
      ${options.map((o, i) => html`<option key=${o} value=${values ? values[i] : o}>${o}</option>`)}
    </select>
  </label>`;
}

export function Check({ label, name, value }) {
  return html`<label>
    <input
      type="checkbox"
      checked=${value}
      onChange=${(e) => change({ [name]: e.target.checked ? "1" : null }, true)}
    />${" "}
    ${label}
  </label>`;
}

function File({ sweep }) {
  return html`
    ${session.value.extends && html`<${Extend} sweep=${sweep} />`}
    <dl class="stats">
      <div>
        <dt>trainer</dt>
        <dd>${sweep.trainer}</dd>
      </div>
      <div>
        <dt>pool</dt>
        <dd>${sweep.pool}</dd>
      </div>
      <div>
        <dt>priority</dt>
        <dd>${number(sweep.priority)}</dd>
      </div>
      <div>
        <dt>made</dt>
        <dd>${when(sweep.created_at)}</dd>
      </div>
      <div>
        <dt>compared by</dt>
        <dd>
          ${sweep.select.by ? `${sweep.select.by}, ${sweep.select.goal || "minimize"}` : "nothing"}
        </dd>
      </div>
    </dl>
    ${sweep.grids.map(
      (g, i) => html`
        <h2 key=${i}>
          ${i === 0 ? "Sweep file" : "Extension " + i}: ${count(g.points)} trials from${" "}
          ${count(g.first)} on
        </h2>
        <pre tabindex="0" aria-label="Sweep file">${g.source || "none was kept"}</pre>
      `,
    )}
  `;
}
