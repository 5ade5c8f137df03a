// Figures as `sweep figure` draws them, a part of the page of tables.
import { useEffect, useState } from "preact/hooks";
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { Problem } from "../components/problem.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { html } from "../lib/html.mjs";
import { route } from "../lib/route.mjs";

const kinds = ["curves", "slice", "heatmap", "parallel", "table"];

const titles = [
  "curves, mean and band",
  "one parameter against a metric",
  "two parameters",
  "parallel coordinates",
  "table of groups",
];

// Figures draws figures of one sweep; what is not chosen its sweep file says.
export function Figures({ id }) {
  const { query } = route.value;
  const kind = kinds.includes(query.get("figure")) ? query.get("figure") : "curves";
  const { answer: sweep, error } = useAnswer(id ? "sweeps/" + encodeURIComponent(id) : null);
  const [again, set] = useState(0);
  const is = (...list) => list.includes(kind);
  const options = { sweep: id };
  const chosen = (name) => query.get(name) || "";
  if (chosen("metric")) options.metric = chosen("metric");
  if (is("slice", "heatmap") && chosen("x")) options.x = chosen("x");
  if (is("heatmap") && chosen("y")) options.y = chosen("y");
  if (is("curves", "slice", "table") && chosen("by")) options["group-by"] = query.getAll("by");
  if (is("curves", "slice") && chosen("log-x")) options["log-x"] = true;
  if (is("curves", "slice", "heatmap") && chosen("log-y")) options["log-y"] = true;
  if (is("parallel") && chosen("top")) options.top = chosen("top");
  const address = (format) =>
    `api/figures/${kind}?` +
    new URLSearchParams(
      Object.entries({ ...options, format }).flatMap(([name, value]) =>
        [value].flat().map((one) => [name, one === true ? "1" : one]),
      ),
    );
  const drawn = useFigure(id ? address("svg") : null, again);
  const [failed, fail] = useState(null);
  if (!id) return null;
  const metrics = sweep
    ? sweep.metrics.filter((m) => (kind === "curves" ? m.curve : m.summary)).map((m) => m.name)
    : [];
  const varied = sweep
    ? [
        ...new Set(
          sweep.grids.flatMap((g) => g.axes.filter((a) => a.length > 1).flatMap((a) => a.names)),
        ),
      ].filter((n) => n !== "seed")
    : [];
  const pick = (label, name, list) =>
    list.length > 0 &&
    html`<${Choice}
      label=${label}
      name=${name}
      value=${chosen(name)}
      options=${["by the sweep file", ...among(list, chosen(name))]}
      values=${["", ...among(list, chosen(name))]}
    />`;
  const name = sweep ? `${sweep.name}-${kind}` : kind;
  const command = [
    "sweep",
    "figure",
    kind,
    id,
    "-o",
    name + ".svg",
    ...Object.entries(options)
      .filter(([n]) => n !== "sweep")
      .flatMap(([n, v]) => (v === true ? ["--" + n] : ["--" + n, [v].flat().join(",")])),
  ].join(" ");
  const keepPNG = async (e) => {
    e.preventDefault();
    fail(null);
    try {
      const response = await fetch(address("png"));
      if (!response.ok) throw new Error((await response.json()).error);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await response.blob());
      link.download = name + ".png";
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (problem) {
      fail(problem);
    }
  };
  return html`
    <h2>Figures</h2>
    <${Problem} error=${error || failed} />
    <div class="controls">
      <${Choice} label="Figure" name="figure" value=${kind} options=${titles} values=${kinds} />
      ${pick("Metric", "metric", metrics)}
      ${is("slice", "heatmap") && pick("Across", "x", varied)}
      ${is("heatmap") && pick("Upwards", "y", varied)}
      ${is("curves", "slice", "table") && pick("Groups by", "by", varied)}
      ${
        is("parallel") &&
        html`<${Choice}
          label="In colour"
          name="top"
          value=${chosen("top")}
          options=${["the best 10 %", "the best 50 %", "the best 1 %"]}
          values=${["", "50", "1"]}
        />`
      }
      ${
        is("curves", "slice") &&
        html`<${Check} label="Logarithmic across" name="log-x" value=${chosen("log-x") === "1"} />`
      }
      ${
        is("curves", "slice", "heatmap") &&
        html`<${Check}
          label=${kind === "heatmap" ? "Logarithmic colours" : "Logarithmic upwards"}
          name="log-y"
          value=${chosen("log-y") === "1"}
        />`
      }
      <button onClick=${() => set(again + 1)}>Draw again</button>
    </div>
    <div class="figure" aria-busy=${drawn.busy ? "true" : "false"}>
      ${
        drawn.error
          ? html`<p class="note" role="status">${drawn.error.message}</p>`
          : drawn.url
            ? html`<img
              src=${drawn.url}
              alt=${`${titles[kinds.indexOf(kind)]} of ${sweep ? sweep.name : id}`}
            />`
            : html`<p class="quiet" role="status">The figure is being drawn …</p>`
      }
    </div>
    ${
      drawn.url &&
      !drawn.error &&
      html`<p class="controls">
        <a href=${drawn.url} download=${name + ".svg"}>Download as SVG</a>${" "}
        <a href=${address("png")} download onClick=${keepPNG}>Download as PNG</a>${" "}
        <span class="quiet">As of ${drawn.at.toLocaleTimeString("en-GB")}.</span>
      </p>`
    }
    <p class="quiet">The same file comes from <code>${command}</code></p>
  `;
}

// among keeps what is chosen in a list that does not have it: a figure that cannot be
// then says why.
const among = (list, chosen) => (chosen && !list.includes(chosen) ? [...list, chosen] : list);

// useDrawn fetches a picture, anew when its address or the number is another one. The
// picture before it stays meanwhile.
function useFigure(address, number) {
  const [state, set] = useState({ url: null, error: null, busy: true, at: null });
  useEffect(() => {
    if (address === null) return undefined;
    const stop = new AbortController();
    set((old) => ({ ...old, busy: true }));
    (async () => {
      try {
        const response = await fetch(address, { signal: stop.signal });
        const text = await response.text();
        if (!response.ok) throw new Error(JSON.parse(text).error);
        set({
          url: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text),
          error: null,
          busy: false,
          at: new Date(),
        });
      } catch (error) {
        if (error.name !== "AbortError") set({ url: null, error, busy: false, at: null });
      }
    })();
    return () => stop.abort();
  }, [address, number]);
  return state;
}
