"""Where newer versions have wandb.keras."""

from ...keras import WandbCallback, WandbEvalCallback, WandbMetricsLogger, WandbModelCheckpoint
