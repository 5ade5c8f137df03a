"""Where frameworks look for the type of disabled runs."""

from . import RunDisabled
