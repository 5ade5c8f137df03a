"""Where frameworks look for parts of wandb."""
