// The address: #/path?name=value&name=value holds the whole view.
import { signal } from "@preact/signals";

function parseHash() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

export const route = signal(parseHash());

let shownHash = location.hash;

const readHash = () => {
  shownHash = location.hash;
  route.value = parseHash();
};

addEventListener("hashchange", () => {
  if (location.hash !== shownHash) readHash();
});

// hrefOf writes an address: null or "" leaves a name out, a list repeats it.
export function hrefOf(path, values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "" && one !== false)
        query.append(name, one === true ? "1" : one);
    }
  }
  const text = query.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

// changeRoute gives the view other values and keeps the rest; unless push is true it
// leaves no trace in the history.
export function changeRoute(values, push = false) {
  const { path, query } = route.value;
  const all = {};
  for (const name of query.keys()) all[name] = query.getAll(name);
  const href = hrefOf(path, { ...all, ...values });
  if (push) location.hash = href;
  else history.replaceState(null, "", href);
  readHash();
}
