"""Where newer versions have wandb.lightgbm."""

from ...lightgbm import log_summary, wandb_callback
