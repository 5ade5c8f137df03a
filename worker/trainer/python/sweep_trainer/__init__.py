"""Trainers for sweep in Python.

A trainer is a class with a description and a method that trains; serve makes a
program of it that sweep starts by itself. Everything here but serve is free of
gRPC, so that a trainer can be tested without it.

Errors that are the trial's own are raised as Refused (a parameter) or DataRefused
(its data); every other exception is a fault of the trainer, and the trial runs
again as often as its sweep allows. A trial that diverges is a Result with
diverged set, no error.
"""

import math
import time

__all__ = ["Cancelled", "DataRefused", "Metric", "Parameter", "Refused", "Result", "Trainer", "Trial", "Validation", "serve"]


class Parameter:
    """One parameter: its name, its type (boolean, integer, number, string, any),
    and what it accepts. Required parameters have no default. dataset says that the
    parameter helps to determine the data set."""

    def __init__(self, name, type, default=None, doc="", required=False, enum=None, minimum=None, maximum=None,
                 exclusive_minimum=False, dataset=False):
        self.fields = _present(name=name, type=type, default=default, doc=doc, required=required or None, enum=enum,
                               minimum=minimum, maximum=maximum, exclusive_minimum=exclusive_minimum or None,
                               dataset=dataset or None)


class Metric:
    """One metric: its goal ("minimize", "maximize" or none), its unit, whether it is a
    curve and whether it is in the summary. Volatile ones (times) differ between equal
    runs and are left out of digests. Its part is "train", "validation", "test" or none,
    and diverged what a diverged trial counts as in the mean of its grid point. Trials that
    match absent_when, as in {"validation": [0]}, do not report it."""

    def __init__(self, name, goal=None, doc="", unit=None, volatile=False, curve=False, summary=False, part=None,
                 diverged=None, absent_when=None):
        self.fields = _present(name=name, goal=goal, doc=doc, unit=unit, volatile=volatile or None,
                               curve=curve or None, summary=summary or None, part=part, diverged=diverged,
                               absent_when=absent_when)


def _present(**fields):
    return {name: value for name, value in fields.items() if value is not None}


class Refused(Exception):
    """A parameter, or its value, cannot be trained: problem says what was expected, as
    in "must be an integer from 1 to 32"."""

    def __init__(self, parameter, problem, value=None, nearest=""):
        super().__init__("parameter %s: %s" % (parameter, problem))
        self.parameter, self.problem, self.value, self.nearest = parameter, problem, value, nearest


class DataRefused(Exception):
    """A data set is missing or cannot be used; the problem names file and row. With
    changed it is not the one that the trial was validated against."""

    def __init__(self, dataset, problem, changed=False):
        super().__init__("data set %s: %s" % (dataset, problem))
        self.dataset, self.problem, self.changed = dataset, problem, changed


class Cancelled(BaseException):
    """The trial is to stop. Trial.log and Trial.check raise it; a trainer may save a
    last checkpoint and lets it pass. It is no Exception, so that it is not caught by
    the way."""


class Validation:
    """The answer to validate: the digest of the data set, the number of trained
    weights, and estimates of the work (flops) and of the peak memory (bytes)."""

    def __init__(self, dataset_digest="", parameter_count=0, flops=0.0, bytes=0):
        self.dataset_digest, self.parameter_count, self.flops, self.bytes = dataset_digest, parameter_count, flops, bytes


class Result:
    """The outcome of a trial. A metric of the summary that is not finite is left out."""

    def __init__(self, summary=None, diverged=False, weights_digest="", failed=None):
        self.summary = {name: float(value) for name, value in (summary or {}).items() if math.isfinite(value)}
        self.diverged, self.weights_digest, self.failed = diverged, weights_digest, failed


class Trial:
    """One execution of a trial: what there is to train, and where to report.

    parameters are the resolved values by name; data_dir is the directory of the data
    sets; dataset_digest, if not empty, is what the data set's digest must be; points is
    how many points of a curve are kept; checkpoint is the state to go on from, or None:
    the points before it are logged again."""

    # How long points wait to be sent together, in seconds.
    BATCH = 0.5

    def __init__(self, parameters, data_dir="", dataset_digest="", points=1000, checkpoint=None, sweep="", index=0, send=None):
        self.parameters, self.data_dir, self.dataset_digest = parameters, data_dir, dataset_digest
        self.points, self.checkpoint, self.sweep, self.index = points, checkpoint, sweep, index
        self.cancelled = False
        self._send = send or (lambda curves, checkpoint: None)
        self._curves, self._sent = {}, time.monotonic()

    def log(self, step, **metrics):
        """Adds a point to each curve; steps of a curve ascend. Names that are no Python
        names are passed as log(step, **{"a/b": 1})."""
        for name, value in metrics.items():
            steps, values = self._curves.setdefault(name, ([], []))
            steps.append(int(step))
            values.append(float(value))
        self.check()
        if time.monotonic() - self._sent > self.BATCH:
            self._flush(None)

    def save(self, step, state):
        """Hands out a checkpoint: bytes from which training goes on to the same bits."""
        self._flush((int(step), bytes(state)))

    def check(self):
        """Raises Cancelled when the trial is to stop; a trainer that logs seldom calls it."""
        if self.cancelled:
            raise Cancelled()

    def _flush(self, checkpoint):
        self._send(self._take(), checkpoint)
        self._sent = time.monotonic()

    def _take(self):
        curves, self._curves = self._curves, {}
        return curves


class Trainer:
    """What a trainer overrides. result_version changes whenever the same parameters give
    other bits."""

    name, version, result_version = "", "1", "1"
    parameters, metrics = (), ()

    def describe(self):
        """The description as JSON has it."""
        return {
            "name": self.name, "version": self.version, "result_version": self.result_version,
            "parameters": [p.fields for p in self.parameters], "metrics": [m.fields for m in self.metrics],
        }

    def validate(self, parameters, data_dir):
        """Checks resolved parameters without training; cheap after a data set's first use."""
        return Validation()

    def train(self, trial):
        """Trains one trial and returns its Result."""
        raise NotImplementedError


def serve(trainer):
    """Serves a trainer to the worker that started this process, and returns when the
    worker has closed it. Nothing may be written to standard output before."""
    from ._serve import serve

    serve(trainer)
