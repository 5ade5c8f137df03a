"""Where frameworks look for parts of wandb."""

from .. import Artifact, Config, Settings, init, login
from . import wandb_run
