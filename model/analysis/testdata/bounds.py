"""Writes bounds.json: the papers' bounds for norms of random size, straight from the formulas of the papers.

Zhang, Lei, Dhillon (2018): theorem 5, corollary 1 and the proof in A.6; their slides: the bound of Neyshabur et al. (2017);
the SGORNN paper: theorem 1 and equation 4. Plain Python.
"""

import json
import math
import pathlib
import random

e, ln, sqrt = math.e, math.log, math.sqrt


def norms(rng, spectral, rank):
    return {"Spectral": spectral, "Frobenius": spectral * rng.uniform(1, sqrt(rank))}


def recurrent(rng, n, ni, ny, T, spectral):
    W, M, Y = norms(rng, spectral, n), norms(rng, rng.uniform(0.3, 3), n), norms(rng, rng.uniform(0.3, 3), n)
    B, gamma, delta, m, r = rng.uniform(0.5, 3), 0.7, 0.05, 390, 0.1
    h = max(n, ni, ny)
    w2 = W["Frobenius"] ** 2 + M["Frobenius"] ** 2 + Y["Frobenius"] ** 2

    def G(top):
        powers = max(top ** (2 * T - 2), 1) * max(M["Spectral"] ** 2, 1) * max(Y["Spectral"] ** 2, 1)
        return B**2 * T**4 * h * ln(h) / gamma**2 * w2 * powers

    beta = max(spectral ** (T - 1), 1) * max(Y["Spectral"], 1) * max(M["Spectral"], 1)
    tilde = e * beta
    sigma = gamma / (12 * sqrt(2 * h * ln(12 * h)) * T * B * (T * e + e + 1) * tilde)
    KL = w2 / (2 * sigma**2)
    union = e * delta / sqrt(m)
    return {
        "network": {"W": W, "M": M, "Y": Y, "Steps": T, "Width": h, "Input": B},
        "margin": gamma, "delta": delta, "rows": m, "radius": r, "complexity": G(spectral), "capped": G(1 + r),
        "gap": 4 * sqrt((KL + ln(6 * m / union)) / (m - 1)), "term": sqrt((G(spectral) + ln(m / delta)) / m),
    }


def feedforward(rng, widths):
    layers = [norms(rng, rng.uniform(0.5, 2), w) for w in widths]
    B, gamma, delta, m, d, h = rng.uniform(0.5, 3), 0.3, 0.01, 1000, len(widths), max(widths)
    product = math.prod(a["Spectral"] for a in layers)
    total = sum(a["Frobenius"] ** 2 / a["Spectral"] ** 2 for a in layers)
    C = B**2 * d**2 * h * ln(d * h) / gamma**2 * product**2 * total
    return {
        "network": {"Layers": layers, "Width": h, "Input": B}, "margin": gamma, "delta": delta, "rows": m,
        "complexity": C, "lipschitz": product, "term": sqrt((C + ln(d * m / delta)) / m),
    }


def gated(rng, alpha, T):
    U = norms(rng, rng.uniform(0.5, 2), 6)
    Rx, RW, Rv, most, delta, m = rng.uniform(0.5, 3), rng.uniform(0.5, 3), rng.uniform(0.5, 3), 2.5, 0.05, 5000
    off = abs(U["Spectral"] - 1)
    return {
        "network": {"Alpha": alpha, "Beta": 1 - 2 * alpha, "Steps": T, "Input": Rx, "Weights": RW, "Output": Rv, "U": U},
        "most": most, "delta": delta, "rows": m,
        "gap": 4 * Rx * RW * Rv * alpha * T / sqrt(m) + 3 * most * sqrt(ln(2 / delta) / m),
        "alpha": min(1 / (4 * T * off), 1 / (4 * T * U["Frobenius"]), 1 / (T * off)),
    }


rng = random.Random(1)
cases = {
    "recurrent": [recurrent(rng, 5, 2, 3, 4, 0.5), recurrent(rng, 12, 3, 4, 16, 1.3), recurrent(rng, 4, 9, 2, 1, 1)],
    "feed_forward": [feedforward(rng, [8, 8, 3]), feedforward(rng, [5, 2])],
    "gated": [gated(rng, 0.02, 128), gated(rng, 0.3, 5)],
}
pathlib.Path(__file__).with_name("bounds.json").write_text(json.dumps(cases, indent=1) + "\n")
