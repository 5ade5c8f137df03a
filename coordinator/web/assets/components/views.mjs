// The saved views of a sweep.
import { useState } from "preact/hooks";
import { PickList } from "./pick-list.mjs";
import { html } from "../lib/html.mjs";
import { saveViews, savedViews } from "../lib/saved-views.mjs";

/** @param {{sweep: string}} props its id */
export function Views({ sweep }) {
  const views = savedViews.value[sweep] || [];
  const [isLost, setLost] = useState(false);
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const save = (event) => {
    event.preventDefault();
    const name = String(new FormData(event.target).get("view")).trim();
    if (!name) return;
    const others = views.filter((view) => view.name !== name);
    setLost(!saveViews(sweep, [...others, { name, href: location.hash }]));
    event.target.reset();
  };
  /** @param {string} name */
  const remove = (name) =>
    setLost(
      !saveViews(
        sweep,
        views.filter((view) => view.name !== name),
      ),
    );
  return html`<${PickList} summary=${`Saved views (${views.length})`}>
    ${views.map(
      ({ name, href }) => html`<p class="controls" key=${name}>
        <a href=${href}>${name}</a>
        <button aria-label=${`Remove the view ${name}`} onClick=${() => remove(name)}>✕</button>
      </p>`,
    )}
    <form class="controls" onSubmit=${save}>
      <input name="view" aria-label="Name of this view" placeholder="Name" required size="14" />
      <button>Save this view</button>
    </form>
    <p class="quiet">
      ${isLost ? "This browser keeps nothing." : "Kept in this browser; its address is the view."}
    </p>
  <//>`;
}
