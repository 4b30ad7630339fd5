"""Replays of the openb traces beside the published figures, for the openb benchmarks.

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

TRACES = ("default", "cpu100", "gpushare40", "gpuspec10", "multigpu20")
SEEDS = (42, 43, 44)
NEEDED = ("openb_node_list_gpu_node.csv", *(f"openb_pod_list_{trace}.csv" for trace in TRACES), "published_per_seed.csv",
          *(f"arrivals/{trace}_seed{seed}.txt" for trace in TRACES for seed in SEEDS))
# Our names of the published policies.
PUBLISHED = {"BestFit": "best-fit", "GpuPacking": "packing", "GpuClustering": "clustering",
             "DotProd": "dot-product", "FGD": "fgd"}


def folder():
    return traces.folder_or_end(os.path.basename(sys.argv[0]), "openb", *NEEDED)


def replay(trace, seed, policy, at=None, jobs="tasks"):
    """What `dove sim replay openb -o json` prints; loads are numbers. `at`: where the list lies, if it is derived. `jobs`: what
    its tasks are to the live scheduler."""
    nodes = folder()
    at = at or nodes
    done = subprocess.run(
        [DOVE, "sim", "replay", "openb", "--nodes", f"{nodes}/openb_node_list_gpu_node.csv",
         "--tasks", f"{at}/openb_pod_list_{trace}.csv", "--arrivals", f"{at}/arrivals/{trace}_seed{seed}.txt",
         "--policy", policy, "--jobs", jobs, "-o", "json"], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    found["unallocated_pct"] = {int(load): value for load, value in found["unallocated_pct"].items()}
    return found


def published():
    """Yields (trace, published policy, seed, {load: unallocated %})."""
    with open(f"{folder()}/published_per_seed.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["policy"] in PUBLISHED:
                points = {int(name.rsplit("_", 1)[1]): float(value) for name, value in row.items()
                          if name.startswith("unallocated_pct_at_") and value}
                yield row["trace"], row["policy"], int(row["seed"]), points
