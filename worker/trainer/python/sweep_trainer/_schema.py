"""Holds parameters to a trainer's description, as the worker does before."""

import math

from . import Refused

_KINDS = {
    "boolean": (lambda v: isinstance(v, bool), "true or false"),
    "integer": (lambda v: _number(v) and float(v).is_integer(), "an integer"),
    "number": (lambda v: _number(v), "a number"),
    "string": (lambda v: isinstance(v, str), "text"),
    "any": (lambda v: True, "any value"),
}


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def resolve(declared, parameters):
    """Returns the parameters with defaults filled in, or raises Refused."""
    resolved = {}
    for parameter in declared:
        f = parameter.fields
        if f["name"] in parameters:
            resolved[f["name"]] = _checked(f, parameters[f["name"]])
        elif "default" in f:
            resolved[f["name"]] = f["default"]
        elif f.get("required"):
            raise Refused(f["name"], "is required")
    for name in parameters:
        if name not in resolved:
            raise Refused(name, "there is no such parameter")
    return resolved


def _checked(f, value):
    fits, expected = _KINDS[f["type"]]
    if not fits(value):
        raise Refused(f["name"], "must be " + expected, value)
    if f["type"] == "integer":
        value = int(value)
    elif f["type"] == "number":
        value = float(value)
    if f.get("enum") is not None and value not in f["enum"]:
        raise Refused(f["name"], "must be one of " + ", ".join(map(str, f["enum"])), value)
    low, high = f.get("minimum"), f.get("maximum")
    if low is not None and (value < low or f.get("exclusive_minimum") and value == low):
        raise Refused(f["name"], "must be %s %s" % ("above" if f.get("exclusive_minimum") else "at least", low), value)
    if high is not None and value > high:
        raise Refused(f["name"], "must be at most %s" % high, value)
    return value
