// Templates: html`<p>…</p>` makes Preact's elements.
import htm from "htm";
import { h } from "preact";

/** @typedef {import("preact").VNode} Element */

/**
 * An event of a control, as handlers in templates get it.
 * @typedef {Event & {target: HTMLInputElement}} ControlEvent
 */

/**
 * What may stand in a template: text, elements, components, attributes and handlers.
 * @typedef {((event: ControlEvent) => unknown) | Function | object | string | number | boolean
 *   | null | undefined} TemplateValue
 */

/** @type {(strings: TemplateStringsArray, ...values: TemplateValue[]) => Element} */
export const html = /** @type {any} */ (htm.bind(h));
