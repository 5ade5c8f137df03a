"""Where newer versions have wandb.xgboost."""

from ...xgboost import WandbCallback, wandb_callback
