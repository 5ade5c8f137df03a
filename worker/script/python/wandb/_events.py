"""The way of numbers from a process to its trial: lines of JSON on $SWEEP_EVENTS."""

import json
import math
import os
import sys

# A write of at most this many bytes to a pipe is not mixed with another's.
_ATOMIC = 4096

_state = {"path": None, "descriptor": None, "process": None}
_said = set()


def say(text):
    print("wandb (sweep): " + text, file=sys.stderr)
    sys.stderr.flush()


def once(text):
    """Says something the first time it is so."""
    if text not in _said:
        if len(_said) < 1000:
            _said.add(text)
        say(text)


def number(value):
    """The number that a value is, None if it is none: numpy's and torch's scalars too."""
    if isinstance(value, (bool, int, float)):
        return _plain(value)
    if isinstance(value, (str, bytes)) or value is None:
        return None
    item = getattr(value, "item", None)
    if callable(item):
        try:
            value = item()
        except Exception:
            return None  # an array of several
        if isinstance(value, (bool, int, float)):
            return _plain(value)
        return None
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        try:
            return float(value)
        except Exception:
            return None
    return None


def _plain(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return int(value)
    return float(value)


def rank():
    """This process's number among those of a distributed training, None if it is not one of them."""
    outer = os.environ.get("SWEEP_OUTER_RANKS", "").split(",")
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"):
        value = os.environ.get(name, "")
        if value.isdigit() and "%s=%s" % (name, value) not in outer:
            return int(value)
    return None


def _descriptor():
    path = os.environ.get("SWEEP_EVENTS")
    if not path:
        return None
    if _state["path"] != path or _state["process"] != os.getpid():
        if _state["descriptor"] is not None and _state["process"] == os.getpid():
            os.close(_state["descriptor"])
        _state.update(path=path, process=os.getpid(), descriptor=None)
        try:
            _state["descriptor"] = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        except OSError as problem:
            say("metrics cannot be reported: %s" % problem)
    return _state["descriptor"]


def send(head, values):
    """Writes numbers by name, in as many lines as the pipe takes in one piece each. What is no metric
    is in an object of its own: a script may name a metric step."""
    descriptor = _descriptor()
    if descriptor is None:
        return
    # A rank that its launcher starts again goes on as the same.
    place = rank()
    head = dict(head, process=str(os.getpid())) if place is None else dict(head, process="rank", rank=place)
    start = "{" + '"_": ' + json.dumps(head)
    pending, size = [], len(start)

    def flush():
        line = (", ".join([start] + pending) + "}\n").encode("utf-8")
        try:
            while line:
                line = line[os.write(descriptor, line):]
        except OSError:
            # Whoever listened is gone, and this process with it, soon.
            _state["descriptor"] = None

    for name, value in values.items():
        item = "%s: %s" % (json.dumps(name), json.dumps(value))
        if pending and size + len(item) > _ATOMIC - 16:
            flush()
            pending, size = [], len(start)
        pending.append(item)
        size += len(item) + 2
    if pending or not values:
        flush()


def finite(value):
    return isinstance(value, int) or math.isfinite(value)


def whole(value):
    """The whole number that a value is, None if it is none."""
    n = number(value)
    return int(n) if n is not None and finite(n) and n == int(n) else None
