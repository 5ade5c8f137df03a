"""Where scripts look for the public API."""

from .. import Api
