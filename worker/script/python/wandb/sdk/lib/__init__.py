"""Where frameworks look for parts of wandb."""


class RunDisabled:
    """The type of disabled runs; ours are runs like any other."""
