"""Optuna, asked and told in batches: the peer of BenchmarkLCBench.

A line of standard input has the accuracies of the points before, and how many points are asked for; with
a seed a new search begins. A line of standard output has the points.
"""
import json
import sys
import warnings

import optuna
from optuna.distributions import FloatDistribution, IntDistribution

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
space = {
    "batch": IntDistribution(16, 512, log=True),
    "lr": FloatDistribution(1e-4, 0.1, log=True),
    "momentum": FloatDistribution(0.1, 0.99),
    "decay": FloatDistribution(1e-5, 0.1),
    "layers": IntDistribution(1, 5),
    "units": IntDistribution(64, 1024, log=True),
    "dropout": FloatDistribution(0, 1),
}
print(optuna.__version__, flush=True)
asked = []
for line in sys.stdin:
    request = json.loads(line)
    if "seed" in request:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=request["seed"]))
    else:
        for trial, accuracy in zip(asked, request["told"]):
            study.tell(trial, accuracy)
    asked = [study.ask(space) for _ in range(request["batch"])]
    print(json.dumps([trial.params for trial in asked]), flush=True)
