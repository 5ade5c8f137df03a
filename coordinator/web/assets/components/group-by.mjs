// The choice of parameters that trials are grouped by.
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";

export function GroupBy({ schema, by }) {
  const used = by.length ? by : schema.varying.filter((n) => n !== "seed");
  const toggle = (name, on) =>
    changeRoute({ by: on ? [...used, name] : used.filter((n) => n !== name), offset: null });
  return html`<details class="pick">
    <summary>Grouped by ${by.length ? by.join(", ") : "everything but the seed"}</summary>
    <div>
      ${schema.varying.map(
        (n) => html`<label key=${n}>
          <input
            type="checkbox"
            checked=${used.includes(n)}
            onChange=${(e) => toggle(n, e.target.checked)}
          />
          ${n}
        </label>`,
      )}
      <p><button onClick=${() => changeRoute({ by: null })}>Everything but the seed</button></p>
    </div>
  </details>`;
}
