"""Replays of Muri's traces beside the published figures, for the muri benchmarks.

The traces are the folder `muri` of ../shared/traces, or of MURI.
"""
import csv
import json
import os
import subprocess

from figure import ROOT
from cluster import DOVE

TRACES = ("trace3", "trace3_pr", "trace4")
FIGURES = ("avg_jct_s", "makespan_s", "p99_jct_s")


def folder():
    return os.environ.get("MURI", os.path.join(ROOT, "../shared/traces/muri"))


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
