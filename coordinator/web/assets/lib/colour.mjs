// The colour scheme, and the colours of series and scales.
import { signal } from "@preact/signals";

const storedScheme = (() => {
  try {
    return localStorage.getItem("sweep-scheme");
  } catch {
    return null;
  }
})();

export const scheme = signal(
  storedScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
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
const lightColours = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#E69F00",
  "#56B4E9",
  "#5A5A5A",
  "#8A6D00",
];

const darkColours = [
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

export const colour = (i) =>
  (scheme.value === "dark" ? darkColours : lightColours)[i % lightColours.length];

export const dash = (i) =>
  dashes[Math.floor(i / lightColours.length) % dashes.length].concat(i % 2 && i >= 4 ? [] : []);

export const cssVariable = (name) =>
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
