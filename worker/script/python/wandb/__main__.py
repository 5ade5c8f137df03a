"""The command wandb, and python -m wandb: sweeps and agents on this machine."""

import argparse
import os
import sys

import wandb
from wandb import _sweep
from wandb.errors import Error


def main():
    words = argparse.ArgumentParser(prog="wandb", description="Stand-in for the command of Weights & Biases: sweeps run on "
                                    "this machine, with no account.")
    words.add_argument("--version", action="version", version="wandb, version %s (stand-in of sweep)" % wandb.__version__)
    commands = words.add_subparsers(dest="command", required=True)
    create = commands.add_parser("sweep", help="keep the sweep of a file, and print its id")
    create.add_argument("file")
    agent = commands.add_parser("agent", help="run the trials of a sweep")
    agent.add_argument("sweep_id")
    agent.add_argument("--count", type=int)
    for command in (create, agent):
        command.add_argument("-p", "--project")
        command.add_argument("-e", "--entity")
        command.add_argument("--name")
    for name in ("login", "online", "offline", "enabled", "disabled", "status", "init", "sync"):
        commands.add_parser(name, help="has no effect here")
    given, more = words.parse_known_args()
    for word in more:
        print("wandb %s: %s has no effect here" % (given.command, word), file=sys.stderr)
    if given.command == "sweep":
        if not os.path.isfile(given.file):
            raise Error("wandb sweep: there is no file %s" % given.file)
        sweep_id = _sweep.keep(file=os.path.abspath(given.file))
        # Where and as W&B writes it, since launchers look for the id there.
        path = "/".join([given.entity or wandb.Api().default_entity, given.project or "uncategorized", sweep_id])
        print("wandb: Creating sweep with ID: %s\nwandb: Run sweep agent with: wandb agent %s" % (sweep_id, path),
              file=sys.stderr)
    elif given.command == "agent":
        wandb.agent(given.sweep_id, count=given.count)


if __name__ == "__main__":
    try:
        main()
    except Error as problem:
        sys.exit("wandb: %s" % problem)
    except KeyboardInterrupt:
        sys.exit(130)
