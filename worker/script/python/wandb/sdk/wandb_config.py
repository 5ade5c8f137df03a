"""Where frameworks look for the type of config."""

from .._config import Config
