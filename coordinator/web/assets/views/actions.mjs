// Buttons that retry or cancel the trials that the filter selects.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { Problem } from "../components/problem.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { count, counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { post, session } from "../lib/request.mjs";

/** @import { ActionAnswer, Sweep, TrialState } from "../../api" */
/** @import { Filter } from "../lib/filter.mjs" */

/** @typedef {"retry" | "cancel"} Kind */

/** @typedef {{sweep: Sweep, filter: Filter, version: number}} Props */

/** @type {Record<Kind, TrialState[]>} */
const possibleStates = {
  retry: ["failed", "cancelled"],
  cancel: ["pending", "queued", "running"],
};

const words = {
  retry: { title: "Retry trials", done: "retried", button: "Retry" },
  cancel: { title: "Cancel trials", done: "cancelled", button: "Cancel" },
};

/** @param {Props} props */
export function Actions(props) {
  const [open, setOpen] = useState(/** @type {Kind | null} */ (null));
  if (!session.value.controls) return null;
  return html`
    <button onClick=${() => setOpen("retry")}>Retry …</button>
    <button onClick=${() => setOpen("cancel")}>Cancel …</button>
    ${open && html`<${ActionDialog} ...${props} kind=${open} close=${() => setOpen(null)} />`}
  `;
}

/** @param {Props & {kind: Kind, close: () => void}} props */
function ActionDialog({ kind, sweep, filter, version, close }) {
  const possible = possibleStates[kind];
  const states = filter.state.length
    ? possible.filter((state) => filter.state.includes(state))
    : possible;
  const { answer, error } = useAnswer(
    states.length ? `sweeps/${sweep.id}/trials` : null,
    { state: states, where: filter.where, limit: 0 },
    version,
  );
  const [done, setDone] = useState(/** @type {ActionAnswer | null} */ (null));
  const [failure, setFailure] = useState(/** @type {Error | null} */ (null));
  const trials = answer ? answer.answer.total : 0;
  const read = answer && answer.read;
  const unread = read && (!read.complete || (kind === "cancel" && read.trials < read.of));
  const act = async () => {
    const body = { states, where: filter.where, expect: trials };
    try {
      setDone(await post(`sweeps/${sweep.id}/${kind}`, body));
    } catch (thrown) {
      setFailure(/** @type {Error} */ (thrown));
    }
  };
  const content = () => {
    if (done)
      return html`<p role="status">
        ${count(done.changed)} of ${counted(done.trials, "trial")} ${words[kind].done}.
      </p>`;
    if (!session.value.acts)
      return html`<p>This needs a token with permission to change sweeps. Sign in first.</p>`;
    if (states.length === 0)
      return html`<p>
        Only trials that are ${possible.join(" or ")} can be ${words[kind].done}, and the filter
        excludes them.
      </p>`;
    return html`
      <p>
        ${counted(trials, "trial")}${" "}
        ${
          filter.where.length > 0 &&
          `${trials === 1 ? "matches" : "match"} ${filter.where.join(" and ")} and `
        }
        ${trials === 1 ? "is" : "are"} ${states.join(" or ")}.
        ${unread && " Trials without a row in the database are left out."}
      </p>
      <p class="controls">
        <button class="primary" disabled=${trials === 0} onClick=${act}>
          ${words[kind].button} ${counted(trials, "trial")}
        </button>
      </p>
    `;
  };
  return html`<${Dialog} title=${words[kind].title} close=${close}>
    <${Problem} error=${error || failure} />
    ${content()}
  <//>`;
}
