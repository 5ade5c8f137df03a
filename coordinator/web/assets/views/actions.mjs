// Buttons that retry or cancel the trials that the filter selects.
import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.mjs";
import { Problem } from "../components/problem.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { count } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { post, session } from "../lib/request.mjs";

// Actions do something with the trials that fit the filter.
export function Actions({ sweep, filter, version }) {
  const [doing, set] = useState(null);
  if (!session.value.controls) return null;
  return html`
    <button onClick=${() => set("retry")}>Retry …</button>
    <button onClick=${() => set("cancel")}>Cancel …</button>
    ${
      doing &&
      html`<${Action}
        what=${doing}
        sweep=${sweep}
        filter=${filter}
        version=${version}
        close=${() => set(null)}
      />`
    }
  `;
}

const possibleStates = {
  retry: ["failed", "cancelled"],
  cancel: ["pending", "queued", "running"],
};

function Action({ what, sweep, filter, version, close }) {
  const meant = filter.state.length
    ? filter.state.filter((s) => possibleStates[what].includes(s))
    : possibleStates[what];
  const { answer, error } = useAnswer(
    meant.length ? `sweeps/${sweep.id}/trials` : null,
    { state: meant, where: filter.where, limit: 0 },
    version,
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
              ${possibleStates[what].join(" or ")} can.
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
