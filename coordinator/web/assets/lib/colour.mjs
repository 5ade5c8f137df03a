// The colour scheme, and the colours of series and scales.
import { signal } from "@preact/signals";

const storageKey = "sweep-scheme";

function storedScheme() {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null; // the browser stores nothing
  }
}

const systemScheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** "light" or "dark": as it was chosen here last, else as the system has it. */
export const scheme = signal(storedScheme() || systemScheme());

scheme.subscribe((value) => {
  document.documentElement.dataset.scheme = value;
  try {
    localStorage.setItem(storageKey, value);
  } catch {
    // the browser stores nothing
  }
});

export function toggleScheme() {
  scheme.value = scheme.value === "dark" ? "light" : "dark";
}

// Okabe and Ito's colours, which readers of every kind of colour vision tell apart, a little
// lighter on dark ground. Dashes tell series apart as well.
// prettier-ignore
const seriesColours = {
  light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5A5A5A", "#8A6D00"],
  dark: ["#4FA8E0", "#FF8A3D", "#2FC79A", "#E6A3C8", "#F0B73A", "#8FD0F5", "#B8B8B8", "#D9C04A"],
};
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/**
 * colour is the colour of a series in the present scheme.
 * @param {number} series
 */
export function colour(series) {
  const list = scheme.value === "dark" ? seriesColours.dark : seriesColours.light;
  return list[series % list.length];
}

/**
 * dash is the dash pattern of a series: series of one colour have different ones.
 * @param {number} series
 */
export const dash = (series) =>
  dashes[Math.floor(series / seriesColours.light.length) % dashes.length];

/** @param {string} name a custom property of style.css */
export const cssVariable = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * rgba is a colour with an opacity.
 * @param {string} hex as in #0072B2
 * @param {number} alpha
 */
export function rgba(hex, alpha) {
  const channels = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${[...channels, alpha].join()})`;
}

// Viridis by Smith and van der Walt at every eighth, as in figures: even to the eye, in grey too.
// prettier-ignore
const viridis = [
  [68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140],
  [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37],
];

/**
 * shade is the colour of a scale from 0, dark, to 1, light, and the ink that is legible on it.
 * @param {number} t
 */
export function shade(t) {
  const at = Math.min(Math.max(t, 0), 1) * (viridis.length - 1);
  const i = Math.min(Math.floor(at), viridis.length - 2);
  const [r, g, b] = viridis[i].map((low, channel) =>
    Math.round(low + (viridis[i + 1][channel] - low) * (at - i)),
  );
  const luminance = 0.299 * r + 0.587 * g + 0.114 * b;
  return { fill: `rgb(${[r, g, b].join()})`, ink: luminance > 120 ? "#000" : "#fff" };
}
