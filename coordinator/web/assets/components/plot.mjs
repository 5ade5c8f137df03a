// A plot of curves over steps.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { cssVariable, scheme } from "../lib/colour.mjs";
import { number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

// powersOfTen leaves the lines of a logarithmic axis at powers of ten, unless there are few.
function powersOfTen(_, splits) {
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
      stroke: cssVariable("--quiet"),
      grid: { stroke: cssVariable("--line"), width: 1 },
      ticks: { stroke: cssVariable("--line"), width: 1 },
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
                  grid: { ...axis.grid, filter: powersOfTen },
                  ticks: { ...axis.ticks, filter: powersOfTen },
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
