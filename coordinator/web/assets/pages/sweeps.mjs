// The list of all sweeps.
import { Pager } from "../components/pager.mjs";
import { toggled } from "../components/pick-list.mjs";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { Outcome } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { Tags } from "../components/tags.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { count, dateTime } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { liveSweeps } from "../lib/live.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { partsOf } from "../lib/states.mjs";

/** @import { SweepItem } from "../../api" */

const pageSize = 50;

export function Sweeps() {
  const { query } = route.value;
  const offset = Number(query.get("offset") || 0);
  const tag = query.get("tag");
  const parameters = { tag, offset, limit: pageSize };
  const { answer, error } = useAnswer("sweeps", parameters, useVersion("all"));
  if (!answer)
    return html`
      <h1>Sweeps</h1>
      <${Status} answer=${null} error=${error} />
    `;
  const { sweeps, total } = answer;
  return html`
    <h1>Sweeps <small>${count(total)}</small></h1>
    <${Problem} error=${error} />
    ${
      tag &&
      html`<p class="controls">
        Tagged <strong>${tag}</strong>
        <button onClick=${() => changeRoute({ tag: null, offset: null }, true)}>Show all</button>
      </p>`
    }
    ${
      total === 0 && !tag
        ? html`<p>
          No sweeps yet. <code>sweep run FILE</code> runs all trials of a sweep file on this
          machine.
        </p>`
        : html`
          <${List} sweeps=${sweeps.map((sweep) => liveSweeps.value[sweep.id] || sweep)} />
          <${Pager} offset=${offset} total=${total} size=${pageSize} what="sweep" />
        `
    }
  `;
}

/** @param {{sweeps: SweepItem[]}} props */
function List({ sweeps }) {
  const chosen = route.value.query.getAll("sweep");
  const compare = () => {
    location.hash = hrefOf(["compare"], { sweep: chosen });
  };
  const columns = [
    html`<th scope="col"><span class="visually-hidden">Select</span></th>`,
    ...["Sweep", "State", "Progress"],
    ...["Done", "Failed", "Diverged"].map(numeric),
    ...["Trainer", "Pool", "Created"],
  ];
  return html`
    <p class="controls">
      <button disabled=${chosen.length < 2} onClick=${compare}>
        Compare ${chosen.length || "selected"}
      </button>
      <span class="quiet">
        ${chosen.length < 2 && "Select two or more sweeps to compare them."}
      </span>
    </p>
    <${Table} label="Sweeps, newest first" columns=${columns}>
      ${sweeps.map((sweep) => html`<${Row} key=${sweep.id} sweep=${sweep} chosen=${chosen} />`)}
    <//>
  `;
}

/** @param {string} tag */
const hrefOfTag = (tag) => hrefOf([], { tag });

/** @param {{sweep: SweepItem, chosen: string[]}} props */
function Row({ sweep, chosen }) {
  const { id, name, progress } = sweep;
  const { failed, diverged } = partsOf(progress);
  const done =
    progress.completed + progress.failed + progress.cancelled + progress.stopped + progress.skipped;
  return html`<tr>
    <td>
      <input
        type="checkbox"
        aria-label=${`Compare ${name} ${id}`}
        checked=${chosen.includes(id)}
        onChange=${() => changeRoute({ sweep: toggled(chosen, id) })}
      />
    </td>
    <td>
      <a href=${hrefOf(["sweep", id])}><strong>${name}</strong></a>
      <br />
      <span class="quiet mono">${id}</span>
      ${sweep.tags && html`<${Tags} tags=${sweep.tags} hrefOf=${hrefOfTag} />`}
    </td>
    <td>
      <${Outcome} sweep=${sweep} />
      ${sweep.reason && html`<br /><span class="quiet">${sweep.reason}</span>`}
    </td>
    <td><${Progress} progress=${progress} /></td>
    <td class="num">${count(done)} of ${count(sweep.points)}</td>
    <td class="num">
      ${failed ? html`<span class="state failed">${count(failed)}</span>` : "0"}
    </td>
    <td class="num">
      ${diverged ? html`<span class="state diverged">${count(diverged)}</span>` : "0"}
    </td>
    <td>${sweep.trainer}</td>
    <td>${sweep.pool}</td>
    <td>${dateTime(sweep.created_at)}</td>
  </tr>`;
}
