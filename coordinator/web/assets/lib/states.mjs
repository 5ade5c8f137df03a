// States of trials, their symbols and their order.
import { count } from "./format.mjs";

/** @import { Progress, TrialState } from "../../api" */

/** @type {Record<string, string>} */
export const symbols = {
  completed: "✓",
  finished: "✓",
  failed: "✕",
  diverged: "≈",
  running: "▶",
  active: "▶",
  queued: "◔",
  pending: "○",
  cancelled: "⊘",
  stopped: "◼",
  skipped: "↷",
  waiting: "⏳",
  paused: "❚❚",
};

/**
 * The states of trials, in the order in which they are drawn.
 * @type {TrialState[]}
 */
export const states = [
  "completed",
  "diverged",
  "failed",
  "running",
  "queued",
  "stopped",
  "skipped",
  "cancelled",
  "pending",
];

/**
 * outcomeOf says how a sweep stands: its state, or if it has finished, what went wrong.
 * @param {string} state
 * @param {Progress} progress
 * @returns {{look: string, text: string}} the state whose symbol and colour it has, and the words
 */
export function outcomeOf(state, progress) {
  const { failed, diverged, completed } = progress;
  if (state !== "finished" || failed + diverged === 0) return { look: state, text: state };
  const look = failed > 0 ? "failed" : "diverged";
  const all = failed > 0 ? completed === 0 : diverged === completed;
  if (all) return { look, text: "all trials " + look };
  const parts = [failed && count(failed) + " failed", diverged && count(diverged) + " diverged"];
  return { look, text: "finished, " + parts.filter(Boolean).join(", ") };
}

/**
 * partsOf counts the trials of a sweep by state, each trial once.
 * @param {Progress} progress
 * @returns {Record<TrialState, number>}
 */
export const partsOf = (progress) => ({
  completed: progress.completed - progress.diverged,
  diverged: progress.diverged,
  failed: progress.failed,
  running: progress.running,
  queued: progress.queued,
  stopped: progress.stopped,
  skipped: progress.skipped,
  cancelled: progress.cancelled,
  pending: progress.pending,
});
