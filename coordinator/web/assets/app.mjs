// The frame around all pages, the pages' addresses, and the start of it all.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Dialog } from "./components/dialog.mjs";
import { Shortcuts, listenToKeys } from "./components/shortcuts.mjs";
import { SignIn } from "./components/sign-in.mjs";
import { scheme, toggleScheme } from "./lib/colour.mjs";
import { timeOfDay } from "./lib/format.mjs";
import { html } from "./lib/html.mjs";
import { useCurrentInView } from "./lib/in-view.mjs";
import { connect, connected, paused, problem, unreachableSince } from "./lib/live.mjs";
import { loadSession, post, prefetch, session, useTicket } from "./lib/request.mjs";
import { hrefOf, route } from "./lib/route.mjs";
import { Compare } from "./pages/compare.mjs";
import { Sweep } from "./pages/sweep.mjs";
import { Sweeps } from "./pages/sweeps.mjs";
import { Tables } from "./pages/tables.mjs";
import { Trial } from "./pages/trial.mjs";
import { Workers } from "./pages/workers.mjs";

/** @import { Element } from "./lib/html.mjs" */

/**
 * The pages, by the first part of the address.
 * @type {Record<string, {title: string, page: () => Element}>}
 */
const pages = {
  "": { title: "Sweeps", page: Sweeps },
  workers: { title: "Workers", page: Workers },
  tables: { title: "Tables", page: Tables },
  compare: { title: "Compare", page: Compare },
  sweep: { title: "Sweep", page: Sweep },
  trial: { title: "Trial", page: Trial },
};

/** The dialog that is open. */
const dialog = signal(/** @type {"sign in" | "shortcuts" | null} */ (null));
const closeDialog = () => {
  dialog.value = null;
};
const openSignIn = () => {
  dialog.value = "sign in";
};
const openShortcuts = () => {
  dialog.value = "shortcuts";
};

function App() {
  const { path } = route.value;
  const here = path[0] || "";
  const known = pages[here];
  useEffect(() => {
    const trial = here === "trial" && path[2] ? `Trial ${path[2]}` : "";
    const title = known ? known.title : "Not found";
    document.title = [trial, title, "sweep"].filter(Boolean).join(" · ");
  }, [path.join("/")]);
  const content = () => {
    if (!session.value.reads)
      return html`
        <h1>Sign in</h1>
        <${SignIn} done=${closeDialog} />
      `;
    if (known) return html`<${known.page} />`;
    return html`
      <h1>Page not found</h1>
      <p><a href="#/">All sweeps</a></p>
    `;
  };
  /** @param {Event} event */
  const skip = (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Header} here=${here} />
    ${session.value.reads && html`<${Alerts} />`}
    <main id="main" tabindex="-1">${content()}</main>
    ${
      dialog.value === "sign in" &&
      html`<${Dialog} title="Sign in" close=${closeDialog}><${SignIn} done=${closeDialog} /><//>`
    }
    ${
      dialog.value === "shortcuts" &&
      html`<${Dialog} title="Shortcuts" close=${closeDialog}><${Shortcuts} /><//>`
    }
  `;
}

/** @param {{here: string}} props */
function Header({ here }) {
  const row = useCurrentInView(here);
  const section = ["sweep", "trial"].includes(here) ? "" : here;
  /**
   * @param {string} page
   * @param {string} text
   */
  const link = (page, text) => {
    const current = page === section ? "page" : undefined;
    return html`<a href=${hrefOf(page ? [page] : [])} aria-current=${current}>${text}</a>`;
  };
  const togglePaused = () => {
    paused.value = !paused.value;
  };
  const updates = paused.value ? "Paused" : connected.value ? "Live" : "Not connected";
  return html`<header class="top" ref=${row}>
    <a class="brand" href="#/">
      <img src="icon.svg" width="20" height="20" alt="" />
      sweep
    </a>
    <nav aria-label="Pages">
      ${link("", "Sweeps")}
      ${link("compare", "Compare")}
      ${link("tables", "Tables")}
      ${link("workers", "Workers")}
    </nav>
    <button aria-pressed=${paused.value} onClick=${togglePaused} title="Pause live updates (p)">
      ${updates}
    </button>
    <button onClick=${toggleScheme} title="Light or dark (d)">
      ${scheme.value === "dark" ? "Light" : "Dark"}
    </button>
    <button onClick=${openShortcuts} title="Keyboard shortcuts (?)">Shortcuts</button>
    <${Account} />
  </header>`;
}

function Account() {
  const { name, can_sign_in: canSignIn } = session.value;
  const signOut = async () => {
    await post("session", {}, "DELETE");
    await loadSession();
  };
  if (name)
    return html`
      <span class="quiet">${name}</span>
      <button onClick=${signOut}>Sign out</button>
    `;
  return canSignIn ? html`<button onClick=${openSignIn}>Sign in</button>` : null;
}

/** Alerts reports a server that does not respond, or what stalls the trials. */
function Alerts() {
  if (unreachableSince.value)
    return html`<p class="note error lost" role="alert">
      The server does not respond. This page shows the state at${" "}
      ${timeOfDay(unreachableSince.value)}. Retrying… When a run has ended,${" "}
      <code>sweep ui</code> serves its results.
    </p>`;
  if (!problem.value) return null;
  return html`<p class="note error lost" role="alert">Trials are stalled: ${problem.value}</p>`;
}

listenToKeys(() => dialog.value !== null, openShortcuts);

// The server answers what a sweep's views need first while the session is loaded.
const [page, sweep] = route.value.path;
if (page === "sweep" && sweep) {
  const path = `sweeps/${encodeURIComponent(sweep)}`;
  prefetch(path);
  prefetch(path + "/columns");
}
await useTicket(route.value.query.get("ticket"));
await loadSession().catch(() => {});
if (session.value.reads) connect();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.replaceChildren();
render(html`<${App} />`, root);
