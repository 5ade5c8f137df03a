"""Fits a small network to a noisy sine, with a checkpoint after each epoch."""

import argparse
import json
import os
import signal
import sys

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--hidden", type=int, required=True)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
options = parser.parse_args()

torch.set_num_threads(1)  # the sweep fills the cores with trials
torch.manual_seed(options.seed)
x = torch.rand(512, 1) * 6 - 3
y = torch.sin(2 * x) + 0.1 * torch.randn(512, 1)
network = torch.nn.Sequential(torch.nn.Linear(1, options.hidden), torch.nn.Tanh(), torch.nn.Linear(options.hidden, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=options.lr)
loss = torch.nn.MSELoss()

checkpoint = os.path.join(os.environ["SWEEP_CHECKPOINT_DIR"], "state.pt")
history = []  # what was reported: a trial that resumes reports it again
if os.path.exists(checkpoint):
    state = torch.load(checkpoint)
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    history = state["history"]
    print("resuming after epoch", len(history))

stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))  # five seconds are left

with open(os.environ["SWEEP_EVENTS"], "w") as events:
    for line in history:
        print(json.dumps(line), file=events, flush=True)
    for epoch in range(len(history) + 1, options.epochs + 1):
        for rows in torch.randperm(384).split(32):
            optimizer.zero_grad()
            loss(network(x[rows]), y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            line = {
                "step": epoch,
                "train_loss": loss(network(x[:384]), y[:384]).item(),
                "validation_loss": loss(network(x[384:]), y[384:]).item(),
            }
        history.append(line)
        print(json.dumps(line), file=events, flush=True)
        torch.save(
            {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state(), "history": history},
            checkpoint + ".new",
        )
        os.replace(checkpoint + ".new", checkpoint)
        if stopping:
            sys.exit(75)  # another execution resumes from here

torch.save(network.state_dict(), os.path.join(os.environ["SWEEP_ARTIFACTS"], "network.pt"))
