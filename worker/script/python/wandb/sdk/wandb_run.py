"""Where frameworks look for the type of runs."""

from .._run import Run
