// The list of trials: pages, order and filter come from the server.
import {
  html,
  useAnswer,
  hrefOf,
  route,
  change,
  count,
  State,
  Cell,
  Problem,
  Reading,
  Waiting,
  Dialog,
  useState,
  session,
  post,
  ask,
  copy,
} from "./core.mjs";
import { filterOf } from "./sweep.mjs";
import { Pager } from "./sweeps.mjs";

const size = 50;

// columnsOf are the chosen columns: by default what varies, and the metrics with a goal.
function columnsOf(query, facts) {
  const chosen = query.getAll("column").filter((name) => facts.byName[name]);
  if (chosen.length > 0) return chosen;
  const metrics = facts.metrics.filter((m) => facts.goals[m]);
  const shown = [...new Set([facts.first, ...metrics])].filter(Boolean).slice(0, 5);
  return [
    ...facts.varying.slice(0, 10),
    ...(shown.length ? shown : facts.metrics.slice(0, 5)),
    "seconds",
  ];
}

export function Trials({ sweep, facts, time }) {
  const { query } = route.value;
  const columns = columnsOf(query, facts);
  const sort = query.get("sort") || "index";
  const descending = query.get("descending") === "1";
  const offset = Number(query.get("offset") || 0);
  const filter = filterOf(query);
  const ask = { ...filter, column: columns, sort, descending, offset, limit: size };
  const { answer, error, stale } = useAnswer(`sweeps/${sweep.id}/trials`, ask, time);
  const by = (name) => {
    const goal = facts.goals[name];
    const next =
      sort !== name
        ? { sort: name, descending: goal === "maximize" }
        : { sort: name, descending: !descending };
    change({ ...next, offset: null }, true);
  };
  const head = (name, label) => html`<th
    key=${name}
    scope="col"
    class=${isNumber(facts.byName[name]) ? "num" : ""}
    aria-sort=${sort === name ? (descending ? "descending" : "ascending") : "none"}
  >
    <button class="plain" onClick=${() => by(name)} title=${"Sort by " + name}>
      ${label || name}
      ${sort === name ? (descending ? " ↓" : " ↑") : ""}
    </button>
  </th>`;
  const page = answer && answer.answer;
  return html`
    <div class="controls">
      <${Columns} facts=${facts} columns=${columns} />
      <${SQL} id=${sweep.id} ask=${ask} />
      ${page && html`<${Actions} sweep=${sweep} filter=${filter} time=${time} />`}
      <span class="quiet" aria-live="polite">
        ${page ? `${count(page.total)} ${page.total === 1 ? "trial fits" : "trials fit"}` : ""}
      </span>
    </div>
    <${Problem} error=${error} />
    <${Reading} read=${answer && answer.read} />
    ${
      !page
        ? !error && html`<${Waiting} />`
        : html`
          <div class="scroll" aria-busy=${stale}>
            <table>
              <caption class="visually-hidden">Trials of ${sweep.name}</caption>
              <thead>
                <tr>
                  ${head("index", "trial")}
                  ${head("state")}
                  ${columns.filter((c) => c !== "index" && c !== "state").map((c) => head(c))}
                </tr>
              </thead>
              <tbody>
                ${page.rows.map(
                  (row) => html`<tr key=${row.index}>
                    <td><a href=${hrefOf(["trial", sweep.id, row.index])}>${row.index}</a></td>
                    <td><${State} state=${row.state} /></td>
                    ${columns.map((c, i) =>
                      c === "index" || c === "state"
                        ? null
                        : html`<td key=${c} class=${isNumber(facts.byName[c]) ? "num" : ""}>
                          <${Cell}
                            value=${row.cells[i]}
                            state=${row.state}
                            kind=${(facts.byName[c] || {}).kind}
                          />
                        </td>`,
                    )}
                  </tr>`,
                )}
              </tbody>
            </table>
          </div>
          ${page.rows.length === 0 && html`<p>No trial fits.</p>`}
          <${Pager} offset=${offset} total=${page.total} size=${size} what="trials" />
        `
    }
  `;
}

const isNumber = (c) =>
  !!c && (c.low !== undefined || c.kind === "metric" || c.name === "seconds") && c.name !== "index";

function Columns({ facts, columns }) {
  const kinds = [
    ["parameter", "Parameters that vary", (c) => c.varies && c.distinct !== 1],
    ["metric", "Metrics", () => true],
    ["figure", "Figures", (c) => c.name !== "index" && c.name !== "state"],
    ["parameter", "Parameters with one value", (c) => !c.varies || c.distinct === 1],
  ];
  const toggle = (name, on) =>
    change({ column: on ? [...columns, name] : columns.filter((c) => c !== name) });
  return html`<details class="pick">
    <summary>Columns (${columns.length})</summary>
    <div>
      ${kinds.map(([kind, title, wanted]) => {
        const list = facts.columns.filter((c) => c.kind === kind && wanted(c));
        return (
          list.length > 0 &&
          html`
            <h3>${title}</h3>
            ${list.map(
              (c) => html`<label key=${c.name}>
                <input
                  type="checkbox"
                  checked=${columns.includes(c.name)}
                  onChange=${(e) => toggle(c.name, e.target.checked)}
                />
                ${c.name}
              </label>`,
            )}
          `
        );
      })}
      <p><button onClick=${() => change({ column: null })}>As at first</button></p>
    </div>
  </details>`;
}

// SQL shows the statement behind the list.
export function SQL({ id, ask: values }) {
  const [text, set] = useState(null);
  const [told, tell] = useState("");
  const show = async () => {
    try {
      const { sql } = await ask(`sweeps/${id}/sql`, values);
      set(sql);
      await copy(sql).then(
        () => tell("Copied."),
        () => tell("Select it to copy it."),
      );
    } catch (error) {
      set(error.message);
    }
  };
  return html`
    <button onClick=${show}>Copy as SQL</button>
    ${
      text !== null &&
      html`<${Dialog} title="The list as SQL" close=${() => set(null)}>
        <p role="status">
          ${told} <code>sweep sql</code> and every client of the database take it.
        </p>
        <pre tabindex="0">${text}</pre>
      <//>`
    }
  `;
}

// Actions do something with the trials that fit the filter.
function Actions({ sweep, filter, time }) {
  const [doing, set] = useState(null);
  if (!session.value.controls) return null;
  return html`
    <button onClick=${() => set("retry")}>Retry …</button>
    <button onClick=${() => set("cancel")}>Cancel …</button>
    ${
      doing &&
      html`<${Act}
        what=${doing}
        sweep=${sweep}
        filter=${filter}
        time=${time}
        close=${() => set(null)}
      />`
    }
  `;
}

const possible = {
  retry: ["failed", "cancelled"],
  cancel: ["pending", "queued", "running"],
};

function Act({ what, sweep, filter, time, close }) {
  const meant = filter.state.length
    ? filter.state.filter((s) => possible[what].includes(s))
    : possible[what];
  const { answer, error } = useAnswer(
    meant.length ? `sweeps/${sweep.id}/trials` : null,
    { state: meant, where: filter.where, limit: 0 },
    time,
  );
  const [done, set] = useState(null);
  const [failed, fail] = useState(null);
  const n = answer ? answer.answer.total : 0;
  const unread =
    answer && (!answer.read.complete || (what === "cancel" && answer.read.trials < answer.read.of));
  const go = async () => {
    try {
      set(
        await post(`sweeps/${sweep.id}/${what}`, {
          states: meant,
          where: filter.where,
          expect: n,
        }),
      );
    } catch (e) {
      fail(e);
    }
  };
  return html`<${Dialog} title=${what === "retry" ? "Train trials again" : "Cancel trials"} close=${close}>
    <${Problem} error=${error || failed} />
    ${
      done
        ? html`<p role="status">${count(done.changed)} of ${count(done.trials)} trials: done.</p>`
        : !session.value.acts
          ? html`<p>This needs a token that may act: sign in first.</p>`
          : meant.length === 0
            ? html`<p>
              No trial of the states in the filter can be${" "}
              ${what === "retry" ? "trained again" : "cancelled"}: those that are${" "}
              ${possible[what].join(" or ")} can.
            </p>`
            : html`
              <p>
                ${count(n)} ${n === 1 ? "trial fits" : "trials fit"}
                ${filter.where.length ? ` ${filter.where.join(" and ")}` : ""} and${" "}
                ${n === 1 ? "is" : "are"} ${meant.join(" or ")}.
                ${unread ? " Trials that have no row yet are left out." : ""}
              </p>
              <p class="controls">
                <button class="primary" disabled=${n === 0 || !answer} onClick=${go}>
                  ${what === "retry" ? "Train them again" : "Cancel them"}
                </button>
              </p>
            `
    }
  <//>`;
}
