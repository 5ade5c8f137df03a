"""Callbacks for XGBoost."""

import wandb

try:
    from xgboost.callback import TrainingCallback
except ImportError:
    TrainingCallback = object


class WandbCallback(TrainingCallback):
    """Logs the evaluations of each round."""

    def __init__(self, *arguments, **options):
        super().__init__()

    def after_iteration(self, model, epoch, evals_log):
        wandb.log({
            "%s-%s" % (data, name): values[-1] if not isinstance(values[-1], tuple) else values[-1][0]
            for data, metrics in evals_log.items() for name, values in metrics.items()
        }, step=epoch)
        return False


def wandb_callback():
    def callback(env):
        wandb.log(dict(env.evaluation_result_list), step=env.iteration)

    return callback
