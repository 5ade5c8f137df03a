// States of trials, their symbols and their order.

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

// states are the states of trials in the order in which they are drawn.
export const states = [
  "completed",
  "diverged",
  "failed",
  "running",
  "queued",
  "cancelled",
  "pending",
];

// partsOf divides the trials of a sweep into states that do not overlap.
export const partsOf = (p) => ({
  completed: p.completed - p.diverged,
  diverged: p.diverged,
  failed: p.failed,
  running: p.running,
  queued: p.queued,
  cancelled: p.cancelled,
  pending: p.pending,
});
