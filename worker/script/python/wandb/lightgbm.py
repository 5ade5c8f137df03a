"""Callbacks for LightGBM."""

import wandb


def wandb_callback(*arguments, **options):
    """Logs the evaluations of each round."""

    def callback(env):
        wandb.log({"%s_%s" % (data, name): value for data, name, value, *_ in env.evaluation_result_list}, step=env.iteration)

    return callback


def log_summary(*arguments, **options):
    return None
