// What a trial's program logged beside numbers: images, tables, histograms, matrices and texts.
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { Table } from "../components/table.mjs";
import { colour, scheme, shade } from "../lib/colour.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { session } from "../lib/request.mjs";

/** @import { Artifact, MediaItem, Scalar, TrialRecord } from "../../api" */

const prefix = "media.";
const indexName = "media.index.json";
const maxRows = 100;

/**
 * @param {object} props
 * @param {TrialRecord} props.trial
 * @param {Artifact[]} props.artifacts
 */
export function Media({ trial, artifacts }) {
  const index = artifacts.find(({ name, problem }) => name === indexName && !problem);
  const path = `api/sweeps/${trial.sweep}/trials/${trial.index}/artifacts/`;
  const isThere = index !== undefined && session.value.artifacts === true;
  const { content, error } = useFile(isThere ? path + indexName : null, index?.digest);
  if (!isThere) return null;
  const { media: items = [] } = /** @type {{media?: MediaItem[]}} */ (parsed(content) || {});
  return html`
    <h2>Media</h2>
    <${Problem} error=${error} />
    <div class="cards media">
      ${items.map((item) => {
        const { name, place, step, caption, file } = item;
        const title = place === undefined ? name : `${name} ${place + 1}`;
        return html`<div class="card" key=${file}>
          <h3>${title} ${step !== undefined && html`<small class="quiet">step ${step}</small>`}</h3>
          <${Item}
            item=${item}
            address=${path + encodeURIComponent(prefix + file)}
            title=${title}
          />
          ${caption && html`<p class="quiet">${caption}</p>`}
        </div>`;
      })}
    </div>
  `;
}

/** @type {Partial<Record<string, (props: {content: string, title: string}) => unknown>>} */
const views = {
  table: DataTable,
  histogram: Histogram,
  confusion_matrix: Confusion,
  text: ({ content }) => html`<pre tabindex="0">${content}</pre>`,
};

/** @param {{item: MediaItem, address: string, title: string}} props */
function Item({ item, address, title }) {
  const View = views[item.kind];
  const { content, error } = useFile(View ? address : null);
  if (item.kind === "image" && /\.(png|jpe?g|gif|webp)$/i.test(item.file))
    return html`<img src=${address + "?show=1"} alt=${item.caption || title} loading="lazy" />`;
  if (!View) return html`<p><a href=${address} download>Download ${item.file}</a></p>`;
  if (error) return html`<${Problem} error=${error} />`;
  if (content === null) return html`<p class="quiet">Loading…</p>`;
  return html`<${View} content=${content} title=${title} />`;
}

/**
 * useFile reads a file, again if its version changes; nothing while the address is null.
 * @param {string | null} address
 * @param {string} [version]
 */
function useFile(address, version = "") {
  const [state, setState] = useState({
    content: /** @type {string | null} */ (null),
    error: /** @type {Error | null} */ (null),
  });
  useEffect(() => {
    if (address === null) return undefined;
    const abort = new AbortController();
    const load = async () => {
      try {
        const response = await fetch(address, { signal: abort.signal });
        if (!response.ok) throw new Error((await response.json()).error);
        setState({ content: await response.text(), error: null });
      } catch (thrown) {
        const error = /** @type {Error} */ (thrown);
        if (error.name !== "AbortError") setState({ content: null, error });
      }
    };
    load();
    return () => abort.abort();
  }, [address, version]);
  return state;
}

/**
 * parsed reads JSON that a program wrote; null if it is none.
 * @param {string | null} content
 */
function parsed(content) {
  try {
    return content && JSON.parse(content);
  } catch {
    return null;
  }
}

const Unreadable = () => html`<p class="none">The file does not have the form of its kind.</p>`;

/** @param {{content: string, title: string}} props */
function DataTable({ content, title }) {
  const { columns, data, left_out: leftOut = 0 } = parsed(content) || {};
  if (!Array.isArray(columns) || !Array.isArray(data)) return html`<${Unreadable} />`;
  const rows = data.slice(0, maxRows);
  const hidden = data.length - rows.length + leftOut;
  return html`
    <${Table} label=${title} columns=${columns.map(String)}>
      ${rows.map(
        (row, i) => html`<tr key=${i}>
          ${columns.map((_, place) => html`<td key=${place}>${cellText(row?.[place])}</td>`)}
        </tr>`,
      )}
    <//>
    ${hidden > 0 && html`<p class="quiet">${counted(hidden, "further row")} not shown.</p>`}
  `;
}

/** @param {Scalar | object | undefined} value */
function cellText(value) {
  if (value === null || value === undefined) return "none";
  return typeof value === "object" ? JSON.stringify(value) : number(value, 5);
}

/** @param {{content: string, title: string}} props */
function Histogram({ content, title }) {
  scheme.value; // drawn again when it changes
  const { edges, counts } = parsed(content) || {};
  if (!Array.isArray(edges) || !Array.isArray(counts) || edges.length !== counts.length + 1)
    return html`<${Unreadable} />`;
  const [width, height] = [400, 120];
  const most = Math.max(...counts, 1);
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const part = (/** @type {number} */ edge) =>
    high > low ? ((edge - low) / (high - low)) * width : 0;
  const total = counts.reduce((sum, n) => sum + n, 0);
  return html`<svg
    class="chart"
    viewBox=${`0 0 ${width} ${height + 20}`}
    role="img"
    aria-label=${`${title}: ${count(total)} values from ${number(low)} to ${number(high)}`}
  >
    ${counts.map(
      (n, i) => html`<rect
        key=${i}
        x=${part(edges[i])}
        width=${Math.max(part(edges[i + 1]) - part(edges[i]) - 0.5, 0.5)}
        y=${height * (1 - n / most)}
        height=${(height * n) / most}
        fill=${colour(0)}
      >
        <title>${number(edges[i])} to ${number(edges[i + 1])}: ${count(n)}</title>
      </rect>`,
    )}
    <text class="quiet" x="0" y=${height + 15}>${number(low)}</text>
    <text class="quiet" x=${width} y=${height + 15} text-anchor="end">${number(high)}</text>
  </svg>`;
}

/** @param {{content: string, title: string}} props */
function Confusion({ content, title }) {
  const { classes, counts } = parsed(content) || {};
  if (!Array.isArray(classes) || !Array.isArray(counts)) return html`<${Unreadable} />`;
  const most = Math.max(1, ...counts.flat().filter(Number.isFinite));
  return html`<${Table}
    label=${`${title}: true classes down, predicted ones across`}
    columns=${["true \\ predicted", ...classes.map(exact)]}
  >
    ${classes.map(
      (name, i) => html`<tr key=${i}>
        <th scope="row">${exact(name)}</th>
        ${classes.map((_, k) => {
          const n = counts[i]?.[k] ?? 0;
          const { fill, ink } = shade(n / most);
          return html`<td key=${k} class="num" style=${{ background: fill, color: ink }}>
            ${count(n)}
          </td>`;
        })}
      </tr>`,
    )}
  <//>`;
}
