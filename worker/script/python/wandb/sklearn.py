"""Plots of scikit-learn's models: left out, but called without an error."""

from . import _events


def _left_out(name):
    def plot(*arguments, **options):
        _events.once("wandb.sklearn.%s is left out" % name)

    return plot


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _left_out(name)
