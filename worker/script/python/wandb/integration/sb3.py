"""A callback for Stable-Baselines3, whose metrics come through TensorBoard's writer: init(sync_tensorboard=True)."""

import os

import wandb

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError:

    class BaseCallback:
        """What the callback needs of its base where Stable-Baselines3 is missing."""

        def __init__(self, verbose=0):
            self.verbose, self.n_calls, self.model = verbose, 0, None


class WandbCallback(BaseCallback):
    """Keeps the algorithm's settings in config, and its model: every model_save_freq calls and at the end."""

    def __init__(self, verbose=0, model_save_path=None, model_save_freq=0, gradient_save_freq=0, log="all"):
        super().__init__(verbose)
        if wandb.run is None:
            raise wandb.Error("You must call wandb.init() before WandbCallback()")
        self.model_save_path, self.model_save_freq = model_save_path, model_save_freq
        if gradient_save_freq:
            wandb.termwarn("gradient_save_freq has no effect here")
        self.path = model_save_path and os.path.join(model_save_path, "model.zip")

    def _init_callback(self):
        if self.path:
            os.makedirs(self.model_save_path, exist_ok=True)
        settings = {"algo": type(self.model).__name__}
        for name, value in vars(self.model).items():
            if not name.startswith("_") and (value is None or isinstance(value, (bool, int, float, str))):
                settings[name] = value
        wandb.config.setdefaults(settings)

    def _on_step(self):
        if self.path and self.model_save_freq and self.n_calls % self.model_save_freq == 0:
            self.save_model()
        return True

    def _on_training_end(self):
        if self.path:
            self.save_model()

    def save_model(self):
        self.model.save(self.path)
        wandb.save(self.path, base_path=self.model_save_path)
