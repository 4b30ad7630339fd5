#!/usr/bin/env python3
"""A training that is killed again and again goes on from its last checkpoint and loses no more than the interval."""
import glob
import os
import random
import signal
import sys
import time

from cluster import Cluster, until

EVERY = 20
STEPS = 300
TRAIN = """
import os, sys, time
from dove import checkpoint, progress
every, steps, log = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "a", buffering=1)
saved = checkpoint.latest()
total, first = 0, 0
if saved:
    total, first = int(open(saved.path()).read()), saved.step + 1
print("begin", os.environ["DOVE_RESTART_COUNT"], os.getpid(), first, file=log)
for step in range(first, steps):
    time.sleep(0.004)
    total += step
    print("step", step, file=log)
    progress.step(step)
    if (step + 1) % every == 0 or checkpoint.asked():
        checkpoint.save(step, lambda file: file.write(str(total).encode()), keep=2)
checkpoint.wait()
print("end", total, file=log)
"""


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [line.split() for line in file.read().splitlines()]


def train(cluster, name, lost_at_most):
    log = os.path.join(cluster.folder, name + ".log")
    program = os.path.join(cluster.folder, "train.py")
    with open(program, "w") as file:
        file.write(TRAIN)
    job = cluster.submit({"name": name, "command": [sys.executable, program, str(EVERY), str(STEPS), log],
                          "retries_max": 10})
    kills = 4
    for kill in range(kills):
        begins = until(lambda: [line for line in read(log) if line[0] == "begin" and int(line[1]) == kill], 60,
                       f"attempt {kill}")
        time.sleep(random.uniform(0.05, 0.3))
        os.kill(int(begins[0][2]), signal.SIGKILL)
    assert cluster.wait(job, 120)["state"] == "completed"
    lines = read(log)
    assert lines[-1] == ["end", str(sum(range(STEPS)))], lines[-1]
    done, resumed = -1, []
    for line in lines:
        if line[0] == "begin":
            assert int(line[3]) <= done + 1, line
            resumed.append(done + 1 - int(line[3]))
        elif line[0] == "step":
            done = int(line[1])
    assert len(resumed) == kills + 1 and max(resumed) <= lost_at_most, resumed
    (folder,) = glob.glob(os.path.join(cluster.folder, "shared/checkpoints", f"*-{job}"))
    kept = [entry for entry in os.listdir(folder) if entry.startswith("step-")]
    assert len(kept) == 2, kept
    taken = cluster.run("events", "-j", str(job), "-k", "CheckpointTaken").stdout.splitlines()
    assert len(taken) >= 2, taken


def main():
    with Cluster(nodes=0, cores=4) as cluster:
        stage = os.path.join(cluster.folder, "stage")
        os.mkdir(stage)
        cluster.names = ["node1"]
        cluster.start_agent("node1")
        cluster.wait_connected()
        train(cluster, "plain", EVERY)
        cluster.agents["node1"].kill()
        cluster.agents["node1"].wait(10)
        cluster.agent_options = ["--stage", stage]
        cluster.start_agent("node1")
        cluster.wait_connected()
        # What is on its way when the task dies is lost with it: the one before counts.
        train(cluster, "staged", 2 * EVERY)
        until(lambda: not os.listdir(stage), 20, "the stage to be empty")


main()
sys.exit(0)
