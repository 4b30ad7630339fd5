"""Replays of Muri's traces beside the published figures, for the muri benchmarks.

The traces are those of bench/traces.py.
"""
import csv
import json
import os
import subprocess
import sys

import traces
import figure  # noqa: F401  (the way to tests/e2e)
from cluster import DOVE

TRACES = ("trace3", "trace3_pr", "trace4")
FIGURES = ("avg_jct_s", "makespan_s", "p99_jct_s")


def folder():
    return traces.folder_or_end(os.path.basename(sys.argv[0]), "muri", *(f"{trace}.csv" for trace in TRACES),
                                "switch_overhead_s.csv", "published.csv")


def replay(trace, policy):
    """What `dove sim replay muri -o json` prints."""
    done = subprocess.run(
        [DOVE, "sim", "replay", "muri", "--trace", f"{folder()}/{trace}.csv",
         "--overheads", f"{folder()}/switch_overhead_s.csv", "--policy", policy, "-o", "json"],
        check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def published():
    """{(trace, published policy): {figure: seconds}}"""
    with open(f"{folder()}/published.csv", newline="") as file:
        return {(row["trace"], row["policy"]): {name: float(row[name]) for name in FIGURES}
                for row in csv.DictReader(file)}
