// The choice of parameters that trials are grouped by.
import { PickBoxes, PickList } from "./pick-list.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute } from "../lib/route.mjs";
import { withoutSeed } from "../lib/schema.mjs";

/** @import { Schema } from "../lib/schema.mjs" */

/**
 * @param {object} props
 * @param {Schema} props.schema
 * @param {string[]} props.by empty for every parameter but the seed
 */
export function GroupBy({ schema, by }) {
  const chosen = by.length ? by : withoutSeed(schema.varying);
  const summary = `Grouped by ${by.length ? by.join(", ") : "everything but the seed"}`;
  return html`<${PickList} summary=${summary}>
    <${PickBoxes}
      names=${schema.varying}
      chosen=${chosen}
      choose=${(/** @type {string[]} */ by) => changeRoute({ by, offset: null })}
    />
    <p><button onClick=${() => changeRoute({ by: null })}>Everything but the seed</button></p>
  <//>`;
}
