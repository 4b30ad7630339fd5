#!/usr/bin/env python3
"""Logistic regression with plain numpy that survives being killed: it saves its work and goes on from there.

    dove submit --gpus 0 -- python3 train.py --steps 2000 --every 50
"""
import argparse

import numpy

from dove import checkpoint, progress


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=50, help="steps between checkpoints")
    options = parser.parse_args()

    random = numpy.random.default_rng(1)
    inputs = random.normal(size=(4096, 64))
    targets = (inputs @ random.normal(size=64) > 0).astype(float)
    weights, first = numpy.zeros(64), 0
    saved = checkpoint.latest()
    if saved:
        with numpy.load(saved.path()) as work:
            weights = work["weights"]
        first = saved.step + 1
        print(f"goes on after step {saved.step}", flush=True)

    for step in range(first, options.steps):
        rows = numpy.random.default_rng(step).integers(0, len(inputs), 256)
        guess = 1 / (1 + numpy.exp(-inputs[rows] @ weights))
        weights -= 0.1 * inputs[rows].T @ (guess - targets[rows]) / len(rows)
        loss = -numpy.mean(numpy.log(numpy.where(targets[rows] > 0, guess, 1 - guess) + 1e-9))
        progress.step(step, samples=len(rows), loss=loss, phase="train")
        if (step + 1) % options.every == 0 or checkpoint.asked():
            checkpoint.save(step, lambda file: numpy.savez(file, weights=weights))
    checkpoint.wait()
    print(f"loss {loss:.4f}", flush=True)


main()
