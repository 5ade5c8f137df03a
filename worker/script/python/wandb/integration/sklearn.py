"""Where newer versions have wandb.sklearn."""

from ..sklearn import __getattr__
