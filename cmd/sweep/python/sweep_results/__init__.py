"""Results of sweeps in Python, for notebooks.

    import sweep_results as results

    s = results.run("small.yaml")           # runs a sweep file on this machine
    results.sweeps()                        # all sweeps, the newest first
    s = results.sweep("latest")             # one, by name, id or the beginning of one
    s.trials(sort="loss", limit=10)         # shown as a table; .frame() is pandas' DataFrame
    s.groups("lr", "momentum")              # count, mean and standard deviation, best trial
    s.curves("loss", best=5)                # drawn as SVG
    results.sql("SELECT ...")               # see docs/sql.md

The answers come from the program sweep (SWEEP_PROGRAM, or in PATH), so they are the same for the
local database, Postgres and a cluster: settings are those of its environment, such as SWEEP_HOME or
SWEEP_NATS. Only the standard library is needed; frame() needs pandas.
"""

import csv
import io
import json
import os
import re
import subprocess
from html import escape

from ._show import Curves, Table

__all__ = ["Curves", "Error", "Sweep", "Table", "run", "sql", "sweep", "sweeps"]


class Error(Exception):
    """What the program sweep said instead of an answer."""


def _run(*arguments):
    return _ask(*arguments).stdout


def _ask(*arguments, fine=(0,)):
    command = [os.environ.get("SWEEP_PROGRAM") or "sweep", *arguments]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    except OSError as problem:
        raise Error("%s cannot be started (%s): put it into PATH, or its path into SWEEP_PROGRAM" % (command[0], problem.strerror)) from None
    if done.returncode not in fine:
        raise Error(done.stderr.strip().removeprefix("sweep: ") or "%s ended with exit code %d" % (command[0], done.returncode))
    return done


def _lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _conditions(where):
    for condition in [where] if isinstance(where, str) else where:
        yield "--where=" + condition


def _free(name, kind, taken):
    """The name of a column: with its kind if another one is called so."""
    while name in taken:
        name = kind + "." + name
    return name


def sweeps():
    """All sweeps, the newest first: a Table with a row for each."""
    rows = []
    for s in json.loads(_run("status", "--json")):
        counts = s["progress"]
        rows.append({
            "sweep": s["id"], "name": s["name"], "state": s["state"], "trials": s["trials"], "completed": counts["completed"],
            "failed": counts["failed"], "running": counts["running"], "created": s["created_at"],
        })
    return Table(rows, "sweeps")


def sweep(reference="latest"):
    """The sweep of a name, an id or the beginning of one; the newest by default."""
    found = json.loads(_run("status", reference, "--json"))
    return Sweep(found[0])


def run(file, *options):
    """Runs a sweep file on this machine, with options of "sweep run", and returns its Sweep. Failed
    trials are no error: Sweep.progress counts them."""
    done = _ask("run", os.fspath(file), "--quiet", *options, fine=(0, 3))
    said = re.search(r"^sweep (\S+): \d+ completed", done.stderr, re.MULTILINE)
    return sweep(said.group(1) if said else "latest")


def sql(query, sweep=None):
    """The rows of a read-only query, a Table. With sweep it may read t, that sweep's trials."""
    options = ["--sweep=" + str(getattr(sweep, "id", sweep))] if sweep is not None else []
    return Table(_lines(_run("sql", query, "--format=json", *options)), "query")


class Sweep:
    """One sweep. Its attributes are as of when it was asked for; its methods ask anew."""

    def __init__(self, status):
        self.id, self.name, self.state = status["id"], status["name"], status["state"]
        self.progress, self.total = status["progress"], status["trials"]
        # The metric that trials are compared by, and whether the best is its minimum or maximum.
        self.metric, self.goal = status.get("metric"), status.get("goal")

    def trials(self, where=(), sort=None, limit=0, best=False):
        """Trials that meet all conditions such as "lr<0.01", a Table with a column for each parameter,
        then each metric. A metric with the name of a parameter or of another column is metric.NAME, a parameter
        called trial or state parameter.NAME. sort is a
        parameter or metric, a metric with a goal with its best value first; limit 0 is all. best leaves the best
        trial of each group."""
        options = ["--limit=%d" % limit, *_conditions(where)]
        if sort:
            options.append("--sort=" + sort)
        if best:
            options.append("--best")
        parameters, metrics, found = {}, {}, _lines(_run("trials", self.id, "--json", *options))
        for t in found:
            parameters.update(dict.fromkeys(t["parameters"]))
            metrics.update(dict.fromkeys((t.get("result") or {}).get("summary") or {}))
        rows = []
        for t in found:
            result = t.get("result") or {}
            summary = result.get("summary") or {}
            row = {"trial": t["index"], "state": "diverged" if result.get("diverged") else t["state"]}
            for name in parameters:
                row[_free(name, "parameter", row)] = t["parameters"].get(name)
            for name in metrics:
                row[_free(name, "metric", row)] = summary.get(name)
            row[_free("seconds", "trial", row)] = result.get("seconds")
            rows.append(row)
        return Table(rows, "trials of " + self.name)

    def groups(self, *by, metrics=(), where=()):
        """Groups of trials that agree in some parameters, all but the seed by default: a Table with a
        row for each, the best first. Failed and diverged trials are in no mean."""
        options = ["--limit=0", *_conditions(where)]
        options += ["--group-by=" + name for name in by or ["*"]]
        options += ["--columns=" + name for name in ([metrics] if isinstance(metrics, str) else metrics)]
        rows = []
        for g in _lines(_run("trials", self.id, "--json", *options)):
            counts = {name: g[name] for name in ("trials", "completed", "failed", "diverged")}
            row = {_free(name, "parameter", counts): value for name, value in g["parameters"].items()}
            row.update(counts)
            for name, m in sorted(g["metrics"].items()):
                row.update({name + ".mean": m["mean"], name + ".sd": m["sd"], name + ".best": m["best"], name + ".best_trial": m["best_trial"]})
            rows.append(row)
        return Table(rows, "groups of " + self.name)

    def curves(self, metric, trials=None, best=5, log=False):
        """The curves of a metric: of the trials with these indices, else of the best ones by the metric
        that the sweep compares trials by. log draws a logarithmic axis."""
        if trials is None:
            trials = [row["trial"] for row in self.trials("state=completed", sort=self.metric or metric, limit=best)]
        lines = {}
        for index in trials:
            text = _run("curves", self.id, str(index), "--metric=" + metric, "--format=csv")
            for row in csv.DictReader(io.StringIO(text)):
                lines.setdefault("trial %d" % index, []).append((int(row["step"]), float(row["value"] or "nan")))
        return Curves(lines, metric, "%s of %s" % (metric, self.name), log)

    def __repr__(self):
        return "<sweep %s (%s): %s, %d of %d trials completed>" % (
            self.id, self.name, self.state, self.progress["completed"], self.total)

    def _repr_html_(self):
        counts = " · ".join("%d %s" % (n, name) for name, n in self.progress.items() if n)
        best = self.trials(sort=self.metric, limit=5) if self.metric else self.trials(limit=5)
        return "<p><b>%s</b> %s, %s<br>%d trials: %s</p>%s" % (
            escape(self.name), escape(self.id), escape(self.state), self.total, escape(counts), best._repr_html_())

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}
