// The artifacts of a trial, a part of its page.
import { useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { bytes } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { request, session } from "../lib/request.mjs";

// Artifacts lists what the trial left. Each is read once before it is handed over, so
// that what is lost or damaged is said here and is no broken file.
export function Artifacts({ trial, artifacts }) {
  const here = session.value.artifacts;
  const path = `sweeps/${trial.sweep}/trials/${trial.index}/artifacts`;
  const { answer: found, error } = useAnswer(
    here && artifacts.length > 0 ? path : null,
    {},
    artifacts.map((a) => a.digest).join(),
  );
  const [told, tell] = useState({});
  if (artifacts.length === 0) return html`<p class="none">The sweep file asks for none.</p>`;
  const looked = Object.fromEntries(((found && found.artifacts) || []).map((a) => [a.name, a]));
  const fetchIt = async (e, name) => {
    e.preventDefault();
    const say = (state, problem) => tell((all) => ({ ...all, [name]: { state, problem } }));
    say("being checked");
    try {
      const [one] = (await request(path, { name })).artifacts;
      if (!one || one.state !== "stored")
        return say(one ? one.state : "missing", one && one.problem);
      say("stored; its digest is right");
      location.href = "api/" + path + "/" + encodeURIComponent(name); // a file: the page stays
    } catch (problem) {
      say("not fetched", problem.message);
    }
  };
  return html`
    <${Problem} error=${error} />
    <div class="scroll">
      <table aria-label="Artifacts">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col" class="num">Size</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          ${artifacts.map((a) => {
            const now =
              told[a.name] ||
              (a.problem
                ? { state: "missing", problem: a.problem }
                : looked[a.name] || { state: here ? "…" : "recorded" });
            const there = here && !a.problem && now.state !== "lost";
            return html`<tr key=${a.name}>
              <td>
                ${
                  there
                    ? html`<a
                      href=${"api/" + path + "/" + encodeURIComponent(a.name)}
                      download
                      onClick=${(e) => fetchIt(e, a.name)}
                      title="Download"
                    >
                      ${a.name}
                    </a>`
                    : a.name
                }
              </td>
              <td role="status" class="wrap">
                <span class=${/stored|checked|recorded|…/.test(now.state) ? "" : "bad"}>
                  ${now.state}
                </span>
                ${now.problem ? `: ${now.problem}` : ""}
              </td>
              <td class="num">${a.problem ? "" : bytes(a.size)}</td>
              <td class="mono" title=${a.digest}>${(a.digest || "").slice(0, 12)}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="quiet">
      ${
        here
          ? "A name downloads the file, once its bytes are found to be what its digest says. "
          : "This dashboard has no artifact store. "
      }
      <code>sweep artifacts get ${trial.sweep} ${trial.index} NAME</code>${" "}
      fetches one too.
    </p>
  `;
}
