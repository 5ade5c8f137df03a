"""A run: the trial's if this process is the trial's, else one that reports nothing."""

import collections.abc
import fnmatch
import glob as _glob
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import uuid

from . import _artifact, _events, _media
from ._config import Config, swept

# Several runs of one process count on: a curve has one course.
_last = {"step": -1}


def _history():
    """What earlier executions of the trial reported: step, summary and values by metric; {} for none."""
    try:
        with open(os.environ["SWEEP_HISTORY"], encoding="utf-8") as file:
            return json.load(file)
    except (KeyError, OSError, ValueError):
        return {}


def _off(mode):
    if mode is not None:
        return mode == "disabled"
    said = os.environ.get("WANDB_DISABLED", "").lower()
    return os.environ.get("WANDB_MODE") == "disabled" or said in ("true", "1", "yes", "on")


def _new_run(config=None, exclude=None, include=None, mode=None, **about):
    run = Run(mode, about)
    for defaults in _config_files():
        run.config._merge(defaults)
    run.config._merge(config, exclude, include)
    run._keep_config()
    return run


def _config_files():
    """Files whose values init(config=) and the sweep override: that of the directory, and those of WANDB_CONFIG_PATHS."""
    named = os.environ.get("WANDB_CONFIG_PATHS", "")
    return [p for p in ["config-defaults.yaml"] if os.path.isfile(p)] + [p for p in named.split(",") if p]


class Summary(collections.abc.MutableMapping):
    """The last value of each metric, and what the script puts in its place."""

    def __init__(self, run):
        object.__setattr__(self, "_run", run)
        object.__setattr__(self, "_items", {})

    def __getitem__(self, name):
        return self._items[name]

    def __setitem__(self, name, value):
        self.update({name: value})

    def __delitem__(self, name):
        del self._items[name]

    def __iter__(self):
        return iter(list(self._items))

    def __len__(self):
        return len(self._items)

    def __getattr__(self, name):
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def update(self, given=None, **more):
        if self._run._finished:
            return self._run._drop("the run was finished: what is logged then is dropped")
        numbers = {}
        for name, value in _flat(dict(given or {}, **more)):
            self._items[name] = value
            n = _events.number(value)
            if n is not None:
                numbers[name] = n
            elif isinstance(value, (str, _media._Media)) and not self._run._off:
                _media.keep(name, value)
        if numbers and self._run._reports:
            _events.send({"summary": True}, numbers)

    def _as_dict(self):
        return dict(self._items)

    def __repr__(self):
        return repr(self._items)


class Run:
    """What init returns."""

    def __init__(self, mode, about):
        self._owner = os.getpid()
        # A process without these is not to be the trial, whoever started it.
        trial = bool(os.environ.get("WANDB_RUN_ID") and os.environ.get("WANDB_SWEEP_ID"))
        off = _off(mode)
        self._off = off or not trial
        self._reports = trial and not off and bool(os.environ.get("SWEEP_EVENTS"))
        if trial and off:
            _events.once("the script has disabled wandb: this run reports nothing")
        elif not trial:
            _events.once("this run is not the trial of a sweep: what it logs is not kept")
        self.id = (trial and os.environ.get("WANDB_RUN_ID")) or about.get("id") or uuid.uuid4().hex[:8]
        self.sweep_id = os.environ.get("WANDB_SWEEP_ID") if trial else None
        self.name = about.get("name") or os.environ.get("WANDB_NAME") or (
            os.environ.get("SWEEP_RUN_NAME") or self.id if trial else "run-" + self.id
        )
        self.project = (trial and os.environ.get("WANDB_PROJECT")) or about.get("project") or os.environ.get("WANDB_PROJECT") or "uncategorized"
        self.entity = (trial and os.environ.get("WANDB_ENTITY")) or about.get("entity") or os.environ.get("WANDB_ENTITY") or "local"
        self.group = about.get("group") or os.environ.get("WANDB_RUN_GROUP")
        self.job_type = about.get("job_type")
        self.tags = about.get("tags") or [tag for tag in os.environ.get("WANDB_TAGS", "").split(",") if tag.strip()]
        self.notes = about.get("notes") or os.environ.get("WANDB_NOTES")
        self.settings = about.get("settings")
        self.start_time = time.time()
        # No page is there, but scripts put addresses together.
        self.project_url = "local://%s/%s" % (self.entity, self.project)
        self.url = "%s/runs/%s" % (self.project_url, self.id)
        self.sweep_url = "%s/sweeps/%s" % (self.project_url, self.sweep_id) if self.sweep_id else None
        self.resumed = trial and bool(os.environ.get("SWEEP_CHECKPOINT_DIR")) and bool(
            os.path.isdir(os.environ["SWEEP_CHECKPOINT_DIR"]) and os.listdir(os.environ["SWEEP_CHECKPOINT_DIR"])
        )
        self.mode = "disabled" if off else "offline"
        self.disabled, self.offline = off, True
        self.config = Config(swept() if trial else None)
        self.summary = Summary(self)
        self._first = _last["step"] + 1 if self._reports else 0
        # The first run of a resumed trial goes on after the last one; its first step may be an earlier checkpoint's.
        self._before = _history() if self._reports and self._first == 0 else {}
        self._step = self.starting_step = self._before.get("step", -1) + 1
        self._begun = False
        self.summary._items.update(self._before.get("summary", {}))
        self._defined = []
        self._reached = {}
        self._aggregates = {}
        self._finished = False
        self._dir = None

        # Only what the script says is reported, not the name that is made up here.
        if about.get("name") or os.environ.get("WANDB_NAME"):
            self._label_changed("name")
        for what in ("group", "notes", "tags"):
            if getattr(self, what):
                self._label_changed(what)

    # What W&B's run has under further names.
    history = property(lambda self: self)

    @property
    def step(self):
        return self._step

    @property
    def path(self):
        return "%s/%s/%s" % (self.entity, self.project, self.id)

    @property
    def dir(self):
        """A folder whose files are kept."""
        if self._dir is None:
            kept = _media.folder() if self.sweep_id else None
            self._dir = os.path.join(kept, "files") if kept else tempfile.mkdtemp(prefix="wandb-run-")
            os.makedirs(self._dir, exist_ok=True)
        return self._dir

    def project_name(self):
        return self.project

    def get_url(self):
        return self.url

    def get_project_url(self):
        return self.project_url

    def get_sweep_url(self):
        return self.sweep_url

    def _label_changed(self, what):
        if self._reports and self._owner == os.getpid():
            value = getattr(self, what)
            text = ",".join(map(str, value)) if what == "tags" else str(value or "")
            # A line is at most 64 KiB. What is longer than a label may be is cut where that is said.
            text = text.encode("utf-8", "ignore")[:10010].decode("utf-8", "ignore")
            _events.send({what: text}, {})

    def __setattr__(self, what, value):
        if what == "tags":
            value = (value,) if isinstance(value, str) else tuple(value or ())
        object.__setattr__(self, what, value)
        if what in ("name", "notes", "tags", "group") and "_finished" in self.__dict__:
            self._label_changed(what)

    def _label(self, *arguments, **options):
        """Frameworks say who they are."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        _events.once("run.%s is left out: this stand-in does not have it" % name)
        return lambda *arguments, **options: None

    def log(self, data, step=None, commit=None, sync=None, **ignored):
        """Reports numbers at a step, which counts on by itself."""
        if not isinstance(data, collections.abc.Mapping):
            raise ValueError("wandb.log must be passed a dictionary")
        if self._finished:
            return self._drop("the run was finished: what is logged then is dropped")
        at = _events.whole(step)
        if at is None and step is not None:
            _events.once("step %.100r is no whole number: it is ignored" % (step,))
        if at is None:
            at = self._step
            if commit is not False:
                self._step += 1
        elif at < self._step and (self._begun or not self._before):
            return self._drop("step %d comes before step %d: what is logged for it is dropped" % (at, self._step))
        else:
            self._step = at + 1 if commit else at
        self._begun = True
        self._keep_config()
        numbers = {}
        for name, value in _flat(data):
            n = _events.number(value)
            if n is not None:
                numbers[name] = n
                self.summary._items[name] = n
            elif value is not None:
                self.summary._items[name] = value
                if not self._off:
                    _media.keep(name, value, at + self._first)
        if not numbers or not self._reports:
            return
        at += self._first
        # Metrics with an axis of their own have its steps. If that goes back, only the summary changes.
        rows, back, places = {}, {}, {}
        for name, n in numbers.items():
            axis = self._definition(name).get("step_metric")
            own = _events.whole(numbers.get(axis)) if axis else None
            places[name] = where = at if own is None else own
            if own is not None and where < self._reached.get(name, where):
                back[name] = n
                continue
            self._reached[name] = where
            rows.setdefault(where, {})[name] = n
        for where, row in sorted(rows.items()):
            _events.send({"step": where}, row)
        if back:
            _events.send({"summary": True}, back)
        _last["step"] = max(_last["step"], at)
        self._aggregate(numbers, places)

    def _keep_config(self):
        """Keeps what has changed in config: of the first process, and not of a forked child."""
        if self.config._changed and self._reports and self._owner == os.getpid() and not _events.rank():
            object.__setattr__(self.config, "_changed", False)
            _media.keep_config(self.config)

    def _drop(self, why):
        """Counts a call that changes nothing."""
        _events.once(why)
        if self._reports and self._owner == os.getpid():
            _events.send({"dropped": 1}, {})

    def _definition(self, name):
        for pattern, options in reversed(self._defined):
            if pattern == name or "*" in pattern and fnmatch.fnmatchcase(name, pattern):
                if options.get("step_metric") != name:
                    return options
        return {}

    def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None, goal=None, overwrite=None):
        """Says how a metric is summarised: min, max, mean, best, first or last."""
        step_metric = getattr(step_metric, "name", step_metric)
        kinds = [kind.strip() for kind in (summary or "").split(",") if kind.strip() not in ("", "none", "copy")]
        kinds = [({"maximize": "max"}.get(goal, "min") if kind == "best" else kind) for kind in kinds]
        self._defined.append((name, {"step_metric": step_metric, "kinds": kinds}))
        return type("Metric", (), {"name": name})()

    def _aggregate(self, numbers, places):
        changed = {}
        for name, n in numbers.items():
            kinds = self._definition(name).get("kinds") or []
            # What an interrupted execution logged before this step counts, too.
            earlier = self._before.get("values", {}).pop(name, []) if kinds else []
            for kind in kinds:
                for step, value in earlier:
                    if step < places[name]:
                        self._fold(name, kind, value)
                value = self._fold(name, kind, n)
                if value is None:
                    continue
                changed["%s.%s" % (name, kind)] = value
                if len(kinds) == 1:
                    changed[name] = value
        if changed:
            self.summary.update(changed)

    def _fold(self, name, kind, n):
        """Takes a value into one of a metric's summaries, and returns that, None if it has none."""
        held = self._aggregates.get((name, kind))
        if n != n and kind != "last":
            value = held  # NaN is no best
        elif held is None or kind == "last":
            value = (n, n, 1)
        elif kind in ("min", "max"):
            value = ({"min": min, "max": max}[kind](held[0], n), 0, 0)
        elif kind == "mean":
            value = ((held[1] + n) / (held[2] + 1), held[1] + n, held[2] + 1)
        else:
            value = held
        if value is None:
            return None
        self._aggregates[name, kind] = value
        return value[0]

    def finish(self, exit_code=None, quiet=None):
        """Ends the run; a second time nothing happens."""
        import wandb

        if self._finished:
            return
        self._finished = True
        if self._owner == os.getpid():
            if exit_code and self._reports:
                _events.send({"exit": int(exit_code)}, {})
            self._leave()
        if wandb.run is self:
            wandb._show(None)

    join = finish

    def _leave(self):
        """Keeps what was set last, and removes what is empty, at the end."""
        self._keep_config()
        if self._dir is not None:
            try:
                os.rmdir(self._dir)
            except OSError:
                pass  # it has files, or is gone
            self._dir = None

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        failed = kind is not None and not (issubclass(kind, SystemExit) and not problem.code)
        if failed and self._reports and self._owner == os.getpid():
            _events.send({"error": traceback.format_exception_only(kind, problem)[-1].strip()[:500]}, {})
        self.finish(1 if failed else 0)
        return False

    def save(self, glob_str=None, base_path=None, policy="live"):
        """Keeps files with the trial."""
        saved = []
        for path in _glob.glob(os.fspath(glob_str)) if glob_str is not None else []:
            if not os.path.isfile(path):
                continue
            name = os.path.relpath(path, base_path) if base_path else os.path.basename(path)
            into = os.path.join(self.dir, name)
            if os.path.abspath(into) != os.path.abspath(path):
                os.makedirs(os.path.dirname(into), exist_ok=True)
                shutil.copyfile(path, into)
            saved.append(into)
        return saved

    def log_artifact(self, artifact_or_path, name=None, type=None, aliases=None, **ignored):
        return _artifact.log(artifact_or_path, name, type, aliases)

    upsert_artifact = finish_artifact = log_model = log_artifact

    def use_artifact(self, artifact_or_name, type=None, **ignored):
        return _artifact.use(artifact_or_name, type)

    def link_artifact(self, *arguments, **options):
        return None

    def watch(self, *arguments, **options):
        return []

    unwatch = log_code = mark_preempting = link_artifact

    def alert(self, title="", text="", *arguments, **options):
        _events.say("alert: %s %s" % (title, text))

    def status(self):
        return None

    def restore(self, name, *arguments, **options):
        import wandb

        return wandb.restore(name)

    def display(self, *arguments, **options):
        return False

    def to_html(self, *arguments, **options):
        return ""

    def __repr__(self):
        return "<wandb (sweep) run %s>" % self.id


def _flat(data, prefix=""):
    """Names and values, nested mappings joined by dots as W&B shows them."""
    for name, value in data.items():
        name = prefix + str(name)
        if isinstance(value, collections.abc.Mapping) and not isinstance(value, (Config, _media._Media)):
            yield from _flat(value, name + ".")
        else:
            yield name, value
