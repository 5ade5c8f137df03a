// Figures as `sweep figure` draws them, a part of the page of tables.
import { useEffect, useState } from "preact/hooks";
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { Download } from "../components/download.mjs";
import { Problem } from "../components/problem.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { timeOfDay } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { queryOf, route } from "../lib/route.mjs";
import { chosenOf, withoutSeed } from "../lib/schema.mjs";

/** @import { Preset, Sweep } from "../../api" */
/** @import { Parameters } from "../lib/route.mjs" */

/** @type {Record<string, string>} */
const titles = {
  curves: "curves: mean and band",
  slice: "slice: a metric over one parameter",
  heatmap: "heat map: a metric over two parameters",
  parallel: "parallel coordinates",
  table: "table of groups",
};

/**
 * Figures draws figures of one sweep: that of a preset first, if there is one. The sweep file gives
 * what is not chosen here.
 * @param {{id: string | undefined, preset: Preset | undefined}} props
 */
export function Figures({ id, preset }) {
  const kinds = preset && preset.figure ? { [preset.name]: preset.title, ...titles } : titles;
  const [first] = Object.keys(kinds);
  const kind = chosenOf(route.value.query, "figure", Object.keys(kinds), first);
  const { answer: sweep, error } = useAnswer(id ? `sweeps/${encodeURIComponent(id)}` : null);
  const [drawing, setDrawing] = useState(0);
  const options = optionsOf(kind);
  /** @param {string} format */
  const addressOf = (format) => `api/figures/${kind}` + queryOf({ sweep: id, ...options, format });
  const figure = useFigure(id ? addressOf("svg") : null, drawing);
  const [failure, setFailure] = useState(/** @type {Error | null} */ (null));
  if (!id) return null;
  const name = sweep && kind in titles ? `${sweep.name}-${kind}` : kind;
  const image = () => {
    if (figure.error) return html`<p class="note" role="status">${figure.error.message}</p>`;
    if (!figure.url) return html`<p class="quiet" role="status">Drawing…</p>`;
    return html`<img src=${figure.url} alt=${`${kinds[kind]} of ${sweep ? sweep.name : id}`} />`;
  };
  return html`
    <h2>Figures</h2>
    <${Problem} error=${error || failure} />
    <${Controls}
      kinds=${kinds}
      kind=${kind}
      sweep=${sweep}
      redraw=${() => setDrawing(drawing + 1)}
    />
    <div class="figure" aria-busy=${figure.busy}>${image()}</div>
    ${
      figure.url &&
      figure.drawnAt &&
      html`<p class="controls">
        <a href=${figure.url} download=${name + ".svg"}>Download as SVG</a>${" "}
        <${Download}
          label="Download as PNG"
          address=${addressOf("png")}
          name=${name + ".png"}
          failed=${setFailure}
        />${" "}
        <span class="quiet">Drawn at ${timeOfDay(figure.drawnAt)}.</span>
      </p>`
    }
    <p class="quiet">
      Command that draws this file: <code>${commandOf(kind, id, name, options)}</code>
    </p>
  `;
}

// The kinds of figures that have each option.
/** @type {Record<string, string[]>} */
const having = {
  metric: Object.keys(titles),
  x: ["slice", "heatmap"],
  y: ["heatmap"],
  by: ["curves", "slice", "table"],
  "log-x": ["curves", "slice"],
  "log-y": ["curves", "slice", "heatmap"],
  top: ["parallel"],
};

/**
 * optionsOf returns the options of `sweep figure` that the address chooses.
 * @param {string} kind
 */
function optionsOf(kind) {
  const { query } = route.value;
  /** @param {string} name */
  const chosen = (name) => (having[name].includes(kind) && query.get(name)) || "";
  /** @type {Parameters} */
  const options = {
    metric: chosen("metric"),
    x: chosen("x"),
    y: chosen("y"),
    "group-by": chosen("by") && query.getAll("by"),
    "log-x": chosen("log-x") !== "",
    "log-y": chosen("log-y") !== "",
    top: chosen("top"),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value));
}

/**
 * commandOf returns the command that draws the same figure.
 * @param {string} kind
 * @param {string} id
 * @param {string} name of the file, without its extension
 * @param {Parameters} options
 */
function commandOf(kind, id, name, options) {
  const flags = Object.entries(options).flatMap(([option, value]) =>
    value === true ? ["--" + option] : ["--" + option, [value].flat().join(",")],
  );
  return ["sweep figure", kind, id, "-o", name + ".svg", ...flags].join(" ");
}

/**
 * @param {object} props
 * @param {Record<string, string>} props.kinds titles of the figures
 * @param {string} props.kind
 * @param {Sweep | null} props.sweep
 * @param {() => void} props.redraw
 */
function Controls({ kinds, kind, sweep, redraw }) {
  const { query } = route.value;
  const shown = kind === "curves" ? "curve" : "summary";
  const metrics = sweep ? sweep.metrics.filter((m) => m[shown]).map((m) => m.name) : [];
  const axes = sweep ? sweep.grids.flatMap((grid) => grid.axes) : [];
  const names = axes.filter((axis) => axis.length > 1).flatMap((axis) => axis.names);
  const varying = withoutSeed([...new Set(names)]);
  /** @param {string} option */
  const has = (option) => having[option].includes(kind);
  /** @param {string} option */
  const checked = (option) => query.get(option) === "1";
  /**
   * @param {string} label
   * @param {string} name
   * @param {string[]} list
   */
  const pick = (label, name, list) => {
    const chosen = query.get(name) || "";
    // A choice that cannot be drawn stays in the list: the figure says why.
    const all = chosen && !list.includes(chosen) ? [...list, chosen] : list;
    if (list.length === 0) return null;
    return html`<${Choice}
      label=${label}
      name=${name}
      value=${chosen}
      options=${["from the sweep file", ...all]}
      values=${["", ...all]}
    />`;
  };
  const logY = kind === "heatmap" ? "Logarithmic colours" : "Logarithmic y axis";
  return html`<div class="controls">
    <${Choice}
      label="Figure"
      name="figure"
      value=${kind}
      options=${Object.values(kinds)}
      values=${Object.keys(kinds)}
    />
    ${has("metric") && pick("Metric", "metric", metrics)}
    ${has("x") && pick("x axis", "x", varying)}
    ${has("y") && pick("y axis", "y", varying)}
    ${has("by") && pick("Group by", "by", varying)}
    ${
      has("top") &&
      html`<${Choice}
        label="Highlighted"
        name="top"
        value=${query.get("top") || ""}
        options=${["the best 10 %", "the best 50 %", "the best 1 %"]}
        values=${["", "50", "1"]}
      />`
    }
    ${
      has("log-x") &&
      html`<${Check} label="Logarithmic x axis" name="log-x" value=${checked("log-x")} />`
    }
    ${has("log-y") && html`<${Check} label=${logY} name="log-y" value=${checked("log-y")} />`}
    <button onClick=${redraw}>Redraw</button>
  </div>`;
}

/**
 * @typedef {object} Figure
 * @property {string | null} url
 * @property {Error | null} error
 * @property {boolean} busy
 * @property {Date | null} drawnAt
 */

/**
 * useFigure fetches a picture, again whenever its address or the number changes. The
 * picture before it stays meanwhile.
 * @param {string | null} address
 * @param {number} drawing
 */
function useFigure(address, drawing) {
  const [figure, setFigure] = useState(
    /** @type {Figure} */ ({ url: null, error: null, busy: true, drawnAt: null }),
  );
  useEffect(() => {
    if (address === null) return undefined;
    const abort = new AbortController();
    setFigure((old) => ({ ...old, busy: true }));
    fetchImage(address, abort.signal).then(
      (url) => setFigure({ url, error: null, busy: false, drawnAt: new Date() }),
      (error) => {
        if (error.name !== "AbortError")
          setFigure({ url: null, error, busy: false, drawnAt: null });
      },
    );
    return () => abort.abort();
  }, [address, drawing]);
  return figure;
}

/**
 * fetchImage fetches an SVG file as a data URL.
 * @param {string} address
 * @param {AbortSignal} signal
 */
async function fetchImage(address, signal) {
  const response = await fetch(address, { signal });
  const text = await response.text();
  if (!response.ok) throw new Error(JSON.parse(text).error);
  return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}
