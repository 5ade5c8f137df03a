// The notes and tags of a sweep or trial, and a dialog that changes them.
import { useState } from "preact/hooks";
import { Dialog } from "./dialog.mjs";
import { Problem } from "./problem.mjs";
import { Tags } from "./tags.mjs";
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
 * @param {(tag: string) => string} props.hrefOf the address of what else has a tag
 * @param {(Annotation | undefined)[]} props.known from answers and changes; the last edit counts
 */
export function Notes({ sweep, index, what, hrefOf, known }) {
  const [own, setOwn] = useState(/** @type {Annotation | undefined} */ (undefined));
  const [open, setOpen] = useState(false);
  const shown = [...known, own]
    .filter((one) => one !== undefined)
    .reduce((last, one) => (editedAt(one) > editedAt(last) ? one : last));
  const { notes = "", tags = [], edited_by: by, edited_at: at } = shown;
  const canEdit = session.value.controls;
  /** @param {Annotation | null} changed */
  const save = (changed) => {
    if (changed) setOwn(changed);
    setOpen(false);
  };
  if (!notes && tags.length === 0 && !canEdit) return null;
  return html`<div class="notes">
    ${notes && html`<p class="description">${notes}</p>`}
    <p class="controls">
      ${tags.length > 0 && html`<${Tags} tags=${tags} hrefOf=${hrefOf} />`}
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
 * @param {(changed: Annotation | null) => void} props.save is given null if nothing has changed
 */
function Form({ sweep, index, notes, tags, save }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  if (!session.value.acts)
    return html`<p>This needs a token with permission to change sweeps. Sign in first.</p>`;
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const newNotes = String(form.get("notes")).replaceAll("\r\n", "\n").trim();
    const words = String(form.get("tags")).split(",");
    const newTags = words.map((tag) => tag.trim()).filter((tag) => tag !== "");
    // What stays as it was may have been changed by somebody else meanwhile.
    const changes = {
      ...(newNotes !== notes.trim() && { notes: newNotes }),
      ...(newTags.join() !== tags.join() && { tags: newTags }),
    };
    try {
      const isChanged = Object.keys(changes).length > 0;
      save(isChanged ? await post(`sweeps/${sweep}/annotate`, { index, ...changes }) : null);
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
        <textarea name="notes" rows="6" cols="60" defaultValue=${notes} />
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
