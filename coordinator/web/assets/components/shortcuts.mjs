// Keyboard shortcuts, and the list of them.
import { Table } from "./table.mjs";
import { toggleScheme } from "../lib/colour.mjs";
import { html } from "../lib/html.mjs";
import { paused } from "../lib/live.mjs";
import { hrefOf } from "../lib/route.mjs";

const shortcuts = [
  ["g s", "go to sweeps"],
  ["g w", "go to workers"],
  ["g t", "go to tables"],
  ["g c", "go to compare"],
  ["/", "focus the filter"],
  ["j, k", "next and previous row"],
  ["Enter", "open the focused row"],
  ["p", "pause or resume live updates"],
  ["d", "switch between light and dark"],
  ["?", "show this list"],
];

export function Shortcuts() {
  return html`<${Table} label="Keyboard shortcuts" columns=${["Key", "Action"]}>
    ${shortcuts.map(
      ([key, action]) => html`<tr key=${key}>
        <td class="mono">${key}</td>
        <td>${action}</td>
      </tr>`,
    )}
  <//>`;
}

/** The pages that g and another key open.
 * @type {Record<string, string[]>} */
const pages = { s: [], w: ["workers"], t: ["tables"], c: ["compare"] };

/**
 * listenToKeys carries the shortcuts out.
 * @param {() => boolean} busy whether keys are meant for something else
 * @param {() => void} help shows the list
 */
export function listenToKeys(busy, help) {
  let previous = "";
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isInput = target instanceof Element && target.matches("input, textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey || isInput || busy()) return;
    if (previous === "g" && pages[key]) location.hash = hrefOf(pages[key]);
    else if (key === "?") help();
    else if (key === "p") paused.value = !paused.value;
    else if (key === "d") toggleScheme();
    else if (key === "/") focusFilter(event);
    else if (key === "j") focusRow(1);
    else if (key === "k") focusRow(-1);
    previous = key;
  });
}

/** @param {Event} event */
function focusFilter(event) {
  const input = /** @type {HTMLInputElement | null} */ (
    document.querySelector("input[name=where]")
  );
  if (!input) return;
  event.preventDefault();
  input.focus();
}

/**
 * focusRow moves the focus to the link of another row.
 * @param {1 | -1} step
 */
function focusRow(step) {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) =>
    row.querySelector("a"),
  );
  const focused = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(Math.max(focused + step, 0), rows.length - 1)];
  next?.querySelector("a")?.focus();
}
