// The list of all sweeps.
import { Pager } from "../components/pager.mjs";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { count, dateTime } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { liveSweeps } from "../lib/live.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { partsOf } from "../lib/states.mjs";

const pageSize = 50;

export function Sweeps() {
  const { query } = route.value;
  const offset = Number(query.get("offset") || 0);
  const { answer, error } = useAnswer("sweeps", { offset, limit: pageSize }, useVersion("all"));
  const chosen = query.getAll("sweep");
  if (!answer)
    return html`
      <h1>Sweeps</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Loading} />`}
    `;
  const list = answer.sweeps.map((s) => liveSweeps.value[s.id] || s);
  return html`
    <h1>Sweeps <small>${count(answer.total)}</small></h1>
    <${Problem} error=${error} />
    ${
      answer.total === 0
        ? html`<p>
          There are none yet. <code>sweep run FILE</code> trains all trials of a sweep file
          on this machine.
        </p>`
        : html`
          <p class="controls">
            <button
              disabled=${chosen.length < 2}
              onClick=${() => {
                location.hash = hrefOf(["compare"], { sweep: chosen });
              }}
            >
              Compare ${chosen.length || "chosen"}
            </button>
            <span class="quiet">
              ${chosen.length < 2 ? "Choose two sweeps or more to compare them." : ""}
            </span>
          </p>
          <div class="scroll">
            <table>
              <caption class="visually-hidden">Sweeps, the newest first</caption>
              <thead>
                <tr>
                  <th scope="col"><span class="visually-hidden">Choose</span></th>
                  <th scope="col">Sweep</th>
                  <th scope="col">State</th>
                  <th scope="col">Progress</th>
                  <th scope="col" class="num">Done</th>
                  <th scope="col" class="num">Failed</th>
                  <th scope="col" class="num">Diverged</th>
                  <th scope="col">Trainer</th>
                  <th scope="col">Pool</th>
                  <th scope="col">Made</th>
                </tr>
              </thead>
              <tbody>
                ${list.map((s) => {
                  const parts = partsOf(s.progress);
                  return html`<tr key=${s.id}>
                    <td>
                      <input
                        type="checkbox"
                        aria-label=${"Compare " + s.name + " " + s.id}
                        checked=${chosen.includes(s.id)}
                        onChange=${(e) =>
                          changeRoute({
                            sweep: e.target.checked
                              ? [...chosen, s.id]
                              : chosen.filter((id) => id !== s.id),
                          })}
                      />
                    </td>
                    <td>
                      <a href=${hrefOf(["sweep", s.id])}><strong>${s.name}</strong></a>
                      <br />
                      <span class="quiet mono">${s.id}</span>
                    </td>
                    <td>
                      <${State} state=${s.state} />
                      ${
                        s.reason &&
                        html`
                          <br />
                          <span class="quiet">${s.reason}</span>
                        `
                      }
                    </td>
                    <td><${Progress} progress=${s.progress} /></td>
                    <td class="num">
                      ${count(
                        s.progress.completed + s.progress.failed + s.progress.cancelled,
                      )}${" "}
                      of ${count(s.points)}
                    </td>
                    <td class="num">
                      ${
                        parts.failed
                          ? html`<span class="state failed">${count(parts.failed)}</span>`
                          : "0"
                      }
                    </td>
                    <td class="num">
                      ${
                        parts.diverged
                          ? html`<span class="state diverged">${count(parts.diverged)}</span>`
                          : "0"
                      }
                    </td>
                    <td>${s.trainer}</td>
                    <td>${s.pool}</td>
                    <td>${dateTime(s.created_at)}</td>
                  </tr>`;
                })}
              </tbody>
            </table>
          </div>
          <${Pager} offset=${offset} total=${answer.total} size=${pageSize} what="sweeps" />
        `
    }
  `;
}
