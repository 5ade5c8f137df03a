// The address: #/path?name=value&name=value holds the whole view.
import { signal } from "@preact/signals";

/** @typedef {string | number | boolean | null | undefined} Parameter */

/**
 * Parameters by name, of an address or a request: a list repeats the name, true is "1", and
 * null, "" and false leave the name out.
 * @typedef {Record<string, Parameter | Parameter[]>} Parameters
 */

function parseHash() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

export const route = signal(parseHash());

let shownHash = location.hash;

function readHash() {
  shownHash = location.hash;
  route.value = parseHash();
}

addEventListener("hashchange", () => {
  if (location.hash !== shownHash) readHash();
});

/**
 * queryOf writes parameters as a query, with its question mark unless it is empty.
 * @param {Parameters} parameters
 */
export function queryOf(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null || one === undefined || one === "" || one === false) continue;
      query.append(name, one === true ? "1" : String(one));
    }
  }
  const text = query.toString();
  return text && "?" + text;
}

/**
 * hrefOf writes an address.
 * @param {(string | number)[]} path
 * @param {Parameters} [parameters]
 */
export function hrefOf(path, parameters = {}) {
  return "#/" + path.map(encodeURIComponent).join("/") + queryOf(parameters);
}

/**
 * hrefWith writes the address of the view with other parameters, and keeps the rest.
 * @param {Parameters} parameters
 */
export function hrefWith(parameters) {
  const { path, query } = route.value;
  /** @type {Parameters} */
  const all = {};
  for (const name of query.keys()) all[name] = query.getAll(name);
  return hrefOf(path, { ...all, ...parameters });
}

/**
 * changeRoute gives the view other parameters and keeps the rest; unless push is true it
 * leaves no trace in the history.
 * @param {Parameters} parameters
 * @param {boolean} [push]
 */
export function changeRoute(parameters, push = false) {
  const href = hrefWith(parameters);
  if (push) location.hash = href;
  else history.replaceState(null, "", href);
  readHash();
}
