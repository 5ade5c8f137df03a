// The notes and tags of a sweep or trial, and a dialog that changes them.
import { useState } from "preact/hooks";
import { Dialog } from "./dialog.mjs";
import { Problem } from "./problem.mjs";
import { dateTime } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { post, session } from "../lib/request.mjs";

/** @import { Annotation } from "../../api" */

/** @param {Annotation} annotation */
const editedAt = ({ edited_at: at }) => (at ? Date.parse(at) : 0);

/**
 * @param {object} props
 * @param {string} props.sweep its id
 * @param {number} [props.index] that of the trial; without one the notes are the sweep's
 * @param {"sweep" | "trial"} props.what
 * @param {(Annotation | undefined)[]} props.known from answers and changes; the last edit counts
 */
export function Notes({ sweep, index, what, known }) {
  const [own, setOwn] = useState(/** @type {Annotation | undefined} */ (undefined));
  const [open, setOpen] = useState(false);
  const shown = [...known, own]
    .filter((one) => one !== undefined)
    .reduce((last, one) => (editedAt(one) > editedAt(last) ? one : last));
  const { notes = "", tags = [], edited_by: by, edited_at: at } = shown;
  const canEdit = session.value.controls;
  /** @param {Annotation} changed */
  const save = (changed) => {
    setOwn(changed);
    setOpen(false);
  };
  if (!notes && tags.length === 0 && !canEdit) return null;
  return html`<div class="notes">
    ${notes && html`<p class="description">${notes}</p>`}
    <p class="controls">
      ${tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`)}
      ${at && html`<span class="quiet">Edited ${by && `by ${by} `}${dateTime(at)}</span>`}
      ${canEdit && html`<button onClick=${() => setOpen(true)}>Edit notes …</button>`}
    </p>
    ${
      open &&
      html`<${Dialog} title=${`Notes and tags of the ${what}`} close=${() => setOpen(false)}>
        <${Form} sweep=${sweep} index=${index} notes=${notes} tags=${tags} save=${save} />
      <//>`
    }
  </div>`;
}

/**
 * @param {object} props
 * @param {string} props.sweep
 * @param {number} [props.index]
 * @param {string} props.notes
 * @param {string[]} props.tags
 * @param {(changed: Annotation) => void} props.save
 */
function Form({ sweep, index, notes, tags, save }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  if (!session.value.acts)
    return html`<p>This needs a token with permission to change sweeps. Sign in first.</p>`;
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const words = String(form.get("tags")).split(",");
    const body = {
      index,
      notes: String(form.get("notes")).trim(),
      tags: words.map((tag) => tag.trim()).filter((tag) => tag !== ""),
    };
    try {
      save(await post(`sweeps/${sweep}/annotate`, body));
    } catch (thrown) {
      setError(/** @type {Error} */ (thrown));
    }
  };
  return html`<form onSubmit=${submit}>
    <${Problem} error=${error} />
    <p>
      <label>
        Notes
        <br />
        <textarea name="notes" rows="6" cols="60" maxlength="10000" defaultValue=${notes}>
          ${notes}
        </textarea>
      </label>
    </p>
    <p>
      <label>
        Tags, with commas between them
        <br />
        <input name="tags" size="60" defaultValue=${tags.join(", ")} />
      </label>
    </p>
    <p class="controls"><button class="primary">Save</button></p>
  </form>`;
}
