// Colours, scales and the curves' plot.
import uPlot from "uplot";
import { html, signal, useEffect, useRef, number } from "./core.mjs";

// ---- Light or dark: as was chosen here last, else as the system has it.

const kept = (() => {
  try {
    return localStorage.getItem("sweep-scheme");
  } catch {
    return null;
  }
})();
export const scheme = signal(
  kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
);
scheme.subscribe((value) => {
  document.documentElement.dataset.scheme = value;
  try {
    localStorage.setItem("sweep-scheme", value);
  } catch {
    /* a browser that keeps nothing */
  }
});

// Okabe and Ito's colours, which readers of every kind of colour vision tell apart,
// a little lighter on dark ground. Dashes tell series apart as well.
const light = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#E69F00",
  "#56B4E9",
  "#5A5A5A",
  "#8A6D00",
];
const dark = [
  "#4FA8E0",
  "#FF8A3D",
  "#2FC79A",
  "#E6A3C8",
  "#F0B73A",
  "#8FD0F5",
  "#B8B8B8",
  "#D9C04A",
];
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
export const colour = (i) => (scheme.value === "dark" ? dark : light)[i % light.length];
export const dash = (i) =>
  dashes[Math.floor(i / light.length) % dashes.length].concat(i % 2 && i >= 4 ? [] : []);

export const css = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// shade is a colour of a scale from 0 to 1, dark to light, even to the eye and in
// grey: a short form of Matplotlib's viridis.
const viridis = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [109, 205, 89],
  [180, 222, 44],
  [253, 231, 37],
];
export function shade(t) {
  const at = Math.min(Math.max(t, 0), 1) * (viridis.length - 1);
  const i = Math.min(Math.floor(at), viridis.length - 2),
    f = at - i;
  const c = viridis[i].map((v, k) => Math.round(v + (viridis[i + 1][k] - v) * f));
  return {
    fill: `rgb(${c})`,
    ink: 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 120 ? "#000" : "#fff",
  };
}

export const rgba = (hex, alpha) =>
  `rgba(${parseInt(hex.slice(1, 3), 16)},${parseInt(hex.slice(3, 5), 16)},${parseInt(hex.slice(5, 7), 16)},${alpha})`;

// ---- Scales of hand-drawn pictures

// ticks are round numbers between two ends.
export function ticks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const raw = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    list.push(Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12)));
  return list;
}

export function logTicks(low, high) {
  const list = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    list.push(10 ** e);
  const inside = list.filter((v) => v >= low * 0.999 && v <= high * 1.001);
  return inside.length >= 2 ? inside : [low, high];
}

// scaleOf returns where a number stands between 0 and 1; log says whether in
// logarithms.
export function scaleOf(low, high, log) {
  if (log) {
    const a = Math.log(low),
      b = Math.log(high);
    return (v) => (b > a ? (Math.log(v) - a) / (b - a) : 0.5);
  }
  return (v) => (high > low ? (v - low) / (high - low) : 0.5);
}

// wantsLog says whether numbers are better read in logarithms.
export const wantsLog = (low, high) => low > 0 && high / low >= 50;

// ---- Curves

// powers leaves the lines of a logarithmic axis at powers of ten, unless there are few.
function powers(_, splits) {
  const kept = splits.map((v) =>
    v && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9 ? v : null,
  );
  return kept.filter((v) => v !== null).length > 1 ? kept : splits;
}

// Plot draws series over steps. A zoom stays when the data are newer; onZoom hears
// of it. Bands are pairs of series with the area between them filled.
export function Plot({
  label,
  xs,
  series,
  bands = [],
  log = false,
  zoom = null,
  onZoom = null,
  height = 320,
}) {
  const ref = useRef(null),
    plot = useRef(null);
  const data = [xs, ...series.map((s) => s.values)];
  const shape = JSON.stringify([
    series.map((s) => [s.label, s.stroke, s.width, s.dash, s.points]),
    bands,
    log,
    scheme.value,
    height,
  ]);
  useEffect(() => {
    const place = ref.current;
    if (!place) return undefined; // the view was left before it was drawn
    const width = () => Math.max(place.clientWidth, 200);
    const axis = {
      stroke: css("--quiet"),
      grid: { stroke: css("--line"), width: 1 },
      ticks: { stroke: css("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    const u = new uPlot(
      {
        width: width(),
        height,
        cursor: { drag: { x: true, y: false } },
        legend: { show: false },
        scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
        axes: [
          { ...axis, size: 34, values: (_, list) => list.map((v) => number(v, 6)) },
          {
            ...axis,
            ...(log
              ? {
                  grid: { ...axis.grid, filter: powers },
                  ticks: { ...axis.ticks, filter: powers },
                }
              : {}),
            size: 64,
            values: (_, list) => list.map((v) => (v === null ? "" : number(v, 4))),
          },
        ],
        series: [
          {},
          ...series.map((s) => ({
            label: s.label,
            stroke: s.stroke,
            width: s.width ?? 1.8,
            dash: s.dash,
            points: { show: s.points ?? false, size: 4 },
            spanGaps: false,
          })),
        ],
        bands,
        hooks: {
          setSelect: [
            (p) => {
              if (onZoom && p.select.width > 3)
                onZoom([
                  p.posToVal(p.select.left, "x"),
                  p.posToVal(p.select.left + p.select.width, "x"),
                ]);
            },
          ],
        },
      },
      data,
      place,
    );
    u.over.addEventListener("dblclick", () => onZoom && onZoom(null));
    plot.current = u;
    if (zoom) u.setScale("x", { min: zoom[0], max: zoom[1] });
    const resize = new ResizeObserver(() => u.setSize({ width: width(), height }));
    resize.observe(place);
    return () => {
      resize.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [shape]);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const u = plot.current;
    if (!u) return;
    u.setData(data, false);
    if (zoom) u.setScale("x", { min: zoom[0], max: zoom[1] });
    else u.setScale("x", { min: xs[0], max: xs[xs.length - 1] });
  }, [JSON.stringify(data), JSON.stringify(zoom)]);
  return html`<div class="plot" role="img" aria-label=${label} ref=${ref}></div>`;
}

export function Legend({ items }) {
  return html`<ul class="legend">
    ${items.map(
      (s, i) => html`<li key=${i}>
        <svg aria-hidden="true" viewBox="0 0 22 12">
          <line
            x1="0"
            y1="6"
            x2="22"
            y2="6"
            stroke=${s.stroke}
            stroke-width="3"
            stroke-dasharray=${(s.dash || []).join(" ")}
          />
        </svg>
        <span>${s.label}</span>
      </li>`,
    )}
  </ul>`;
}
