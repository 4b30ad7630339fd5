#!/usr/bin/env python3
"""Pi from random points: the tasks of an array of jobs count, and this program adds up.

    PYTHONPATH=../../python python3 pi.py      # or: python3 -m pip install ../../python; python3 pi.py
"""
import random

import dove

POINTS = 100_000
SEEDS = range(20)


def hits(seed):
    """Runs in a task: of that many points in the unit square, those in the circle."""
    numbers = random.Random(seed)
    return sum(numbers.random() ** 2 + numbers.random() ** 2 < 1 for _ in range(POINTS))


if __name__ == "__main__":
    found = sum(dove.map(hits, SEEDS, cores=1, time_limit="5m"))
    print(f"pi is about {4 * found / (POINTS * len(SEEDS)):.3f}")
