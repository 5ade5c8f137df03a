// The server's answers, as far as the pages read them. The Go type that each comes from stands
// before it: TestDeclaredAnswers compares them.

/** A value of a parameter, metric or figure; null where there is none. */
export type Scalar = string | number | boolean | null;

export type Scale = "log" | "linear";

export type Goal = "minimize" | "maximize";

export type TrialState =
  | "completed"
  | "diverged"
  | "failed"
  | "running"
  | "queued"
  | "stopped"
  | "skipped"
  | "cancelled"
  | "pending";

/** web.showSession */
export interface Session {
  reads: boolean;
  acts: boolean;
  controls?: boolean;
  extends?: boolean;
  artifacts?: boolean;
  can_sign_in: boolean;
  cluster: boolean;
  name?: string;
  csrf?: string;
}

/** sweep.Progress; diverged is a part of completed. */
export interface Progress {
  pending: number;
  queued: number;
  running: number;
  completed: number;
  failed: number;
  cancelled: number;
  stopped: number;
  skipped: number;
  diverged: number;
  reproducibility_faults: number;
}

/** sweep.Annotation */
export interface Annotation {
  notes?: string;
  tags?: string[];
  edited_by?: string;
  edited_at?: string;
}

/** web.sweepItem */
export interface SweepItem extends Annotation {
  id: string;
  name: string;
  trainer: string;
  pool: string;
  priority: number;
  state: string;
  reason?: string;
  asked_by?: string;
  purpose?: string;
  points: number;
  created_at: string;
  progress: Progress;
}

/** web.listSweeps */
export interface SweepList {
  total: number;
  sweeps: SweepItem[];
}

/** sweep.MetricSchema */
export interface Metric {
  name: string;
  goal?: Goal;
  curve?: boolean;
  summary?: boolean;
}

/** web.shownGrid */
export interface Grid {
  first: number;
  points: number;
  source: string;
  axes: { names: string[]; length: number; scales?: Record<string, Scale> }[];
}

/** web.showSweep */
export interface Sweep extends SweepItem {
  select: { by?: string; goal?: Goal };
  metrics: Metric[];
  grids: Grid[];
}

/** web.overview */
export interface Overview {
  best: Row | null;
  left: number | null;
  failed: number;
  examined: number;
  causes: { text: string; trials: number; first: number; output?: string }[];
}

/** web.Read: how many of a sweep's trials an answer is about. */
export interface Read {
  trials: number;
  of: number;
  complete: boolean;
  again: boolean;
}

/** The answer to a question about a sweep's trials. */
export interface Answered<T> {
  read: Read;
  answer: T;
}

/** frame.Column */
export interface Column {
  /** How it is called, with its kind where another one is called so; own is what it is called without. */
  name: string;
  own?: string;
  kind: "parameter" | "metric" | "figure";
  varies: boolean;
  distinct: number;
  values?: Scalar[];
  low?: number;
  high?: number;
}

/** frame.Row: cells has a value for each column asked for. */
export interface Row {
  index: number;
  state: TrialState;
  cells: Scalar[];
}

/** frame.Page */
export interface Page {
  total: number;
  rows: Row[];
}

/** frame.Sample: chosen of total trials, and as many of them as are drawn. */
export interface Sample extends Page {
  chosen: number;
}

/** How many trials are in each state. */
export type StateCounts = Partial<Record<TrialState, number>>;

/** frame.Statistics: over the n trials that completed with a value; best is a trial, or -1. */
export interface Statistics {
  n: number;
  mean: number | null;
  sd: number | null;
  min: number | null;
  max: number | null;
  best: number;
}

/** frame.Group: values has one for each parameter of GroupPage.by; missing are those that its trials do not have. */
export interface Group {
  values: Scalar[];
  missing?: number[];
  first: number;
  count: number;
  states: StateCounts;
  metrics: Statistics[];
}

/** frame.Groups */
export interface GroupPage {
  by: string[];
  total: number;
  trials: number;
  groups: Group[];
}

/** frame.Level: a value of a parameter, or a range of values. */
export interface Level {
  value: Scalar;
  low?: number;
  high?: number;
  missing?: boolean;
}

/** frame.SliceCell: levels has the place in Slice.levels for each parameter. */
export interface SliceCell extends Statistics {
  levels: number[];
  states: StateCounts;
}

/** frame.Slice */
export interface Slice {
  by: string[];
  levels: Level[][];
  binned: boolean[];
  trials: number;
  cells: SliceCell[];
}

/** frame.Importances */
export interface Importances {
  trials: number;
  top: number;
  left: number;
  unknown?: string[];
  parameters: {
    parameter: string;
    variance: number;
    share: number;
    trials: number;
    levels: number;
    binned?: boolean;
    few?: boolean;
  }[];
}

/** web.drawnCurve: values are null where they are not finite. */
export interface Curve {
  metric: string;
  points: number;
  steps: number[];
  values: (number | null)[];
  not_finite: number;
}

/** web.band: the curves of a group, at steps that all share. */
export interface Band {
  values: Scalar[];
  first: number;
  trials: number;
  of: number;
  steps: number[] | null;
  mean: (number | null)[];
  sd: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  not_finite: number;
  without: number;
  result: Statistics;
  seconds: number | null;
  last_step: number;
  curves?: Curve[];
}

/** web.curves */
export interface Bands {
  by: string[];
  bands: Band[];
  groups: number;
  trials: number;
  drawn: number;
}

/** sweep.TrialID */
export interface TrialID {
  sweep: string;
  index: number;
}

/** sweep.Result */
export interface Result {
  diverged?: boolean;
  summary?: Record<string, number>;
  weights_digest?: string;
  kernel_level?: string;
  seconds?: number;
  error?: string;
  stderr?: string;
}

/** sweep.TrialRecord */
export interface TrialRecord extends TrialID, Annotation {
  run_name?: string;
  run_group?: string;
  sweep_name: string;
  state: TrialState;
  parameters: Record<string, Scalar> | null;
  fingerprint: string;
  reused_from?: TrialID;
  refusals?: number;
  last_refusal?: string;
  refused_by?: string;
  result?: Result;
}

/** sweep.Execution */
export interface Execution {
  execution: string;
  worker: string;
  started_at: string;
  ended_at?: string;
  outcome: string;
  charged?: boolean;
  forgotten?: boolean;
  checkpoint?: number;
  reason?: string;
  note?: string;
  log_size?: number;
}

/** sweep.ArtifactRecord */
export interface Artifact {
  name: string;
  size: number;
  digest?: string;
  problem?: string;
  dropped?: boolean;
}

/** An entry of the index of a trial's media, as docs/scripts.md describes it. */
export interface MediaItem {
  name: string;
  place?: number;
  kind: string;
  file: string;
  step?: number;
  caption?: string;
}

/** web.artifacts: the artifacts as the store has them. */
export interface StoredArtifacts {
  artifacts: { name: string; state: string; problem?: string }[];
}

/** web.trial */
export interface Trial {
  trial: TrialRecord;
  executions: Execution[];
  artifacts: Artifact[];
  curves: Curve[];
  points: number;
  metrics: Metric[];
  objective: string;
  axes: string[];
}

/** sweep.Log: start is how many bytes came before the text. */
export interface Log {
  text: string;
  start?: number;
}

/** web.Worker */
export interface Worker {
  id: string;
  name: string;
  pool: string;
  version: string;
  state: string;
  reason?: string;
  started_at: string;
  slots: { trial: TrialID | null; since: string }[];
  offer: string;
  problem?: string;
  refusals?: (TrialID & { reason: string; at: string })[];
}

/** web.workers */
export interface WorkerList {
  cluster: boolean;
  workers: Worker[];
}

/** web.compare */
export interface Comparison {
  sweeps: (SweepItem & {
    objective: string;
    goal: Goal;
    read: Read;
    values: Record<string, Scalar[] | null>;
    metric: Statistics | null;
  })[];
  differing: string[];
  parameters: number;
  metrics: string[];
}

/** What web.table answers of a report.Table. */
export interface Table {
  title: string;
  columns: { Name: string; Right: boolean }[];
  rows: { Text: string; Bold: boolean }[][];
  notes: { Mark: string; Text: string }[] | null;
}

/** web.shownPreset */
export interface Preset {
  name: string;
  title: string;
  table: boolean;
  figure: boolean;
  selects: boolean;
  sweeps: string[];
}

/** web.presets */
export interface PresetList {
  presets: Preset[];
}

/** web.table */
export interface TableAnswer {
  sweeps: string[];
  rules: number[];
  table: Table | null;
}

/** web.act */
export interface ActionAnswer {
  trials: number;
  changed: number;
}

/** What each path under api/ answers. */
export type AnswerTo<Path extends string> = Path extends "sweeps"
  ? SweepList
  : Path extends "workers"
    ? WorkerList
    : Path extends "compare"
      ? Comparison
      : Path extends "presets"
        ? PresetList
        : Path extends "session"
          ? Session
          : Path extends `tables/${string}`
            ? TableAnswer
            : Path extends `sweeps/${string}/trials/${string}/log`
              ? Log
              : Path extends `sweeps/${string}/trials/${string}/artifacts`
                ? StoredArtifacts
                : Path extends `sweeps/${string}/trials/${string}`
                  ? Trial
                  : Path extends `sweeps/${string}/${infer Question}`
                    ? AnswerAbout<Question>
                    : Path extends `sweeps/${string}`
                      ? Sweep
                      : never;

/** What a question about a sweep, the last part of its path, is answered with. */
type AnswerAbout<Question extends string> = Question extends keyof AnswersAbout
  ? AnswersAbout[Question]
  : never;

interface AnswersAbout {
  columns: Answered<Column[]>;
  overview: Answered<Overview>;
  trials: Answered<Page>;
  groups: Answered<GroupPage>;
  curves: Answered<Bands>;
  lines: Answered<Sample>;
  slice: Answered<Slice>;
  importance: Answered<Importances>;
  sql: { sql: string };
  annotate: Annotation;
  extend: { points: number };
  retry: ActionAnswer;
  cancel: ActionAnswer;
}
