// All sweeps, and how far each is.
import {
  html,
  useAnswer,
  useTime,
  hrefOf,
  route,
  change,
  live,
  count,
  when,
  State,
  Progress,
  Problem,
  Waiting,
  partsOf,
} from "./core.mjs";

const page = 50;

export function Sweeps() {
  const { query } = route.value;
  const offset = Number(query.get("offset") || 0);
  const { answer, error } = useAnswer("sweeps", { offset, limit: page }, useTime("all"));
  const chosen = query.getAll("sweep");
  if (!answer)
    return html`
      <h1>Sweeps</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Waiting} />`}
    `;
  const list = answer.sweeps.map((s) => live.value[s.id] || s);
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
                          change({
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
                    <td>${when(s.created_at)}</td>
                  </tr>`;
                })}
              </tbody>
            </table>
          </div>
          <${Pager} offset=${offset} total=${answer.total} size=${page} what="sweeps" />
        `
    }
  `;
}

// Pager says which part of a list is shown, and leads to the others.
export function Pager({ offset, total, size, what, name = "offset" }) {
  if (total === 0) return null;
  const to = (at) => change({ [name]: at || null }, true);
  return html`<p class="controls">
    <button disabled=${offset === 0} onClick=${() => to(Math.max(0, offset - size))}>
      Previous
    </button>
    <span role="status">
      ${count(Math.min(offset + 1, total))} to ${count(Math.min(offset + size, total))} of${" "}
      ${count(total)} ${what}
    </span>
    <button disabled=${offset + size >= total} onClick=${() => to(offset + size)}>
      Next
    </button>
  </p>`;
}
