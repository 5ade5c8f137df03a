"""The process of a trial that wandb.agent runs in another: it hands over what
makes it the trial, and ends as the trial ends."""

import json
import os
import socket
import sys


def main():
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.environ["WANDB_AGENT_SOCKET"])
    except (KeyError, OSError) as problem:
        print("the agent that made this sweep is gone (%s): start it again" % problem, file=sys.stderr)
        return 1
    lines = connection.makefile("rw", encoding="utf-8")
    names = ("SWEEP_", "WANDB_")
    lines.write(json.dumps({k: v for k, v in os.environ.items() if k.startswith(names)}) + "\n")
    lines.flush()
    answer = lines.readline()
    if not answer:
        print("the agent ended before its trial", file=sys.stderr)
        return 1
    answer = json.loads(answer)
    if answer["text"]:
        print(answer["text"], file=sys.stderr)
    return answer["exit"]


if __name__ == "__main__":
    sys.exit(main())
