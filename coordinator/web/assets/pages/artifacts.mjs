// The artifacts of a trial, a part of its page.
import { useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { Table, numeric } from "../components/table.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { bytes } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { request, session } from "../lib/request.mjs";

/** @import { Artifact, TrialRecord } from "../../api" */

/** @typedef {{state: string, problem?: string}} Status of an artifact's file */

/**
 * Artifacts lists what the trial left. Each file is read once before it is downloaded, so that
 * one that is lost or damaged is reported here.
 * @param {{trial: TrialRecord, artifacts: Artifact[]}} props
 */
export function Artifacts({ trial, artifacts }) {
  const hasStore = session.value.artifacts;
  const path = /** @type {const} */ (`sweeps/${trial.sweep}/trials/${trial.index}/artifacts`);
  const digests = artifacts.map((a) => a.digest).join();
  const wanted = hasStore && artifacts.length > 0;
  const { answer, error } = useAnswer(wanted ? path : null, {}, digests);
  const [checked, setChecked] = useState(/** @type {Record<string, Status>} */ ({}));
  if (artifacts.length === 0)
    return html`<p class="none">The sweep file requests no artifacts.</p>`;

  /** @param {string} name */
  const addressOf = (name) => `api/${path}/${encodeURIComponent(name)}`;
  /**
   * @param {string} name
   * @param {string} state
   * @param {string} [problem]
   */
  const report = (name, state, problem) =>
    setChecked((all) => ({ ...all, [name]: { state, problem } }));
  /** @param {string} name */
  const download = async (name) => {
    report(name, "checking…");
    try {
      const [stored] = (await request(path, { name })).artifacts;
      if (!stored) return report(name, "missing");
      if (stored.state !== "stored") return report(name, stored.state, stored.problem);
      report(name, "stored, digest verified");
      location.href = addressOf(name); // a file: the page stays
    } catch (thrown) {
      report(name, "download failed", /** @type {Error} */ (thrown).message);
    }
  };
  /**
   * @param {Artifact} artifact
   * @returns {Status}
   */
  const statusOf = ({ name, problem, dropped }) => {
    if (checked[name]) return checked[name];
    if (dropped) return { state: "dropped", problem };
    if (problem) return { state: "missing", problem };
    const stored = answer?.artifacts.find((a) => a.name === name);
    return stored || { state: hasStore ? "…" : "recorded" };
  };
  /**
   * @param {Artifact} artifact
   * @param {Status} status
   */
  const link = ({ name, problem }, status) => {
    if (!hasStore || problem || status.state === "lost") return name;
    /** @param {Event} event */
    const onClick = (event) => {
      event.preventDefault();
      download(name);
    };
    return html`<a href=${addressOf(name)} download onClick=${onClick} title="Download">
      ${name}
    </a>`;
  };
  const columns = ["Name", "State", numeric("Size"), "SHA-256"];
  return html`
    <${Problem} error=${error} />
    <${Table} label="Artifacts" columns=${columns}>
      ${artifacts.map((artifact) => {
        const { name, size, digest = "", problem } = artifact;
        const status = statusOf(artifact);
        const good = /stored|recorded|dropped|…/.test(status.state);
        return html`<tr key=${name}>
          <td>${link(artifact, status)}</td>
          <td role="status" class="wrap">
            <span class=${good ? "" : "bad"}>${status.state}</span>
            ${status.problem && `: ${status.problem}`}
          </td>
          <td class="num">${!problem && bytes(size)}</td>
          <td class="mono" title=${digest}>${digest.slice(0, 12)}</td>
        </tr>`;
      })}
    <//>
    <p class="quiet">
      ${
        hasStore
          ? "Click a name to download the file; its digest is verified first. "
          : "This dashboard has no artifact store. "
      }
      On the command line: <code>sweep artifacts get ${trial.sweep} ${trial.index} NAME</code>
    </p>
  `;
}
