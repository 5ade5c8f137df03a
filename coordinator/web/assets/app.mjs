// The frame around all pages: header, routes, keyboard shortcuts, sign-in.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "./components/dialog.mjs";
import { Problem } from "./components/problem.mjs";
import { scheme } from "./lib/colour.mjs";
import { html } from "./lib/html.mjs";
import { connect, connected, paused, problem, unreachableSince } from "./lib/live.mjs";
import { loadSession, post, prefetch, session } from "./lib/request.mjs";
import { hrefOf, route } from "./lib/route.mjs";
import { Compare } from "./pages/compare.mjs";
import { Sweep } from "./pages/sweep.mjs";
import { Sweeps } from "./pages/sweeps.mjs";
import { Tables } from "./pages/tables.mjs";
import { Trial } from "./pages/trial.mjs";
import { Workers } from "./pages/workers.mjs";

const pages = {
  "": { page: Sweeps, title: "Sweeps" },
  workers: { page: Workers, title: "Workers" },
  tables: { page: Tables, title: "Tables" },
  compare: { page: Compare, title: "Compare" },
  sweep: { page: Sweep, title: "Sweep" },
  trial: { page: Trial, title: "Trial" },
};

const dialog = signal("");

function SignIn() {
  const [error, set] = useState(null);
  const submit = async (e) => {
    e.preventDefault();
    try {
      await post("session", { token: new FormData(e.target).get("token") });
      await loadSession();
      connect();
      dialog.value = "";
    } catch (problem) {
      set(problem);
    }
  };
  return html`<form onSubmit=${submit}>
    <p>
      A token lets you read from other machines, and retry and cancel trials.${" "}
      <code>sweep token create NAME</code> prints one.
    </p>
    <${Problem} error=${error} />
    <p class="controls">
      <label>
        Token${" "}
        <input
          name="token"
          type="password"
          autocomplete="current-password"
          required
          size="40"
        />
      </label>
      <button class="primary">Sign in</button>
    </p>
  </form>`;
}

const shortcuts = [
  ["g s", "sweeps"],
  ["g w", "workers"],
  ["g t", "tables"],
  ["g c", "compare"],
  ["/", "the filter"],
  ["j, k", "the next and the previous row"],
  ["Enter", "open the row"],
  ["p", "hold live changes, and let them come again"],
  ["d", "light or dark"],
  ["?", "this list"],
];

function Help() {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Key</th>
        <th scope="col">Does</th>
      </tr>
    </thead>
    <tbody>
      ${shortcuts.map(
        ([key, does]) => html`<tr key=${key}>
          <td class="mono">${key}</td>
          <td>${does}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

let lastKey = "";

addEventListener("keydown", (e) => {
  if (
    e.ctrlKey ||
    e.metaKey ||
    e.altKey ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) ||
    dialog.value
  )
    return;
  const go = { s: [], w: ["workers"], t: ["tables"], c: ["compare"] }[e.key];
  if (lastKey === "g" && go) location.hash = hrefOf(go);
  else if (e.key === "?") dialog.value = "help";
  else if (e.key === "p") paused.value = !paused.value;
  else if (e.key === "d") scheme.value = scheme.value === "dark" ? "light" : "dark";
  else if (e.key === "/") {
    const input = document.querySelector("input[name=where]");
    if (input) {
      e.preventDefault();
      input.focus();
    }
  } else if (e.key === "j" || e.key === "k") {
    const rows = [...document.querySelectorAll("main tbody tr")].filter((row) =>
      row.querySelector("a"),
    );
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[Math.min(Math.max(at + (e.key === "j" ? 1 : -1), 0), rows.length - 1)];
    if (next) next.querySelector("a").focus();
  }
  lastKey = e.key;
});

function App() {
  const { path } = route.value;
  const known = pages[path[0] || ""];
  const here = path[0] || "";
  useEffect(() => {
    document.title = [
      path[2] && here === "trial" ? "Trial " + path[2] : "",
      known ? known.title : "Not found",
      "sweep",
    ]
      .filter(Boolean)
      .join(" · ");
  }, [path.join("/")]);
  const link = (name, text) => html`<a
    href=${hrefOf(name ? [name] : [])}
    aria-current=${
      here === name || (!name && ["sweep", "trial"].includes(here)) ? "page" : undefined
    }
  >
    ${text}
  </a>`;
  const { reads, name, can_sign_in: canSignIn } = session.value;
  const Page = known && known.page;
  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(e) => {
        e.preventDefault();
        document.getElementById("main").focus();
      }}
    >
      To the content
    </a>
    <header class="top">
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
      <button
        aria-pressed=${paused.value}
        onClick=${() => {
          paused.value = !paused.value;
        }}
        title="Hold live changes (p)"
      >
        ${paused.value ? "Held" : connected.value ? "Live" : "Not connected"}
      </button>
      <button
        onClick=${() => {
          scheme.value = scheme.value === "dark" ? "light" : "dark";
        }}
        title="Light or dark (d)"
      >
        ${scheme.value === "dark" ? "Light" : "Dark"}
      </button>
      <button
        onClick=${() => {
          dialog.value = "help";
        }}
        title="Keys (?)"
      >
        Keys
      </button>
      ${
        name
          ? html`
            <span class="quiet">${name}</span>
            <button
              onClick=${async () => {
                await post("session", {}, "DELETE");
                await loadSession();
              }}
            >
              Sign out
            </button>
          `
          : canSignIn
            ? html`<button
              onClick=${() => {
                dialog.value = "sign in";
              }}
            >
              Sign in
            </button>`
            : null
      }
    </header>
    ${
      unreachableSince.value &&
      reads &&
      html`<p class="note error lost" role="alert">
        The server does not answer: what is shown is of${" "}
        ${unreachableSince.value.toLocaleTimeString("en-GB")}. It is tried again until it does. After
        the end of a run <code>sweep ui</code> serves its results.
      </p>`
    }
    ${
      problem.value &&
      !unreachableSince.value &&
      reads &&
      html`<p class="note error lost" role="alert">Trials do not advance: ${problem.value}</p>`
    }
    <main id="main" tabindex="-1">
      ${
        !reads
          ? html`
            <h1>Sign in</h1>
            <${SignIn} />
          `
          : Page
            ? html`<${Page} />`
            : html`
              <h1>There is no such page</h1>
              <p><a href="#/">All sweeps</a></p>
            `
      }
    </main>
    ${
      dialog.value === "sign in" &&
      html`<${Dialog}
        title="Sign in"
        close=${() => {
          dialog.value = "";
        }}
      >
        <${SignIn} />
      <//>`
    }
    ${
      dialog.value === "help" &&
      html`<${Dialog}
        title="Keys"
        close=${() => {
          dialog.value = "";
        }}
      >
        <${Help} />
      <//>`
    }
  `;
}

// What a sweep's views need first is on its way while it is found out who one is.
const { path } = route.value;

if (path[0] === "sweep" && path[1])
  for (const part of ["", "/columns"]) prefetch("sweeps/" + encodeURIComponent(path[1]) + part);

await loadSession().catch(() => {});

if (session.value.reads) connect();

const root = document.getElementById("app");

root.replaceChildren();

render(html`<${App} />`, root);
