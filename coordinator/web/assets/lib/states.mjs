// States of trials, their symbols and their order.

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
  "cancelled",
  "pending",
];

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
  cancelled: progress.cancelled,
  pending: progress.pending,
});
