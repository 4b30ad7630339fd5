#!/usr/bin/env python3
"""PyTorch on two virtual nodes, on CPUs: torchrun by a batch script as PyTorch publishes it, and ranks that find each other
by env://, started by srun and by dove submit. All of them reach the same loss. `make test-torch` installs PyTorch first.
"""
import os
import random
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from cluster import SKIP, Cluster  # noqa: E402

VENV = os.path.join(ROOT, "build/torch")
TRAIN = os.path.join(ROOT, "tests/torch/train.py")
LIMIT_S = 240

TORCHRUN = """\
#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
hosts=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
first=$(srun --nodes=1 --ntasks=1 -w "${hosts[0]}" hostname --ip-address | awk '{print $1}')
export OMP_NUM_THREADS=1
# Both virtual nodes have the address of this machine, so torchrun cannot see by it who holds the store.
srun bash -c 'torchrun --nnodes "$SLURM_JOB_NUM_NODES" --nproc-per-node 2 --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d \\
  --rdzv-endpoint "'"$first"':PORT" --rdzv-conf "is_host=$((SLURM_NODEID == 0))" TRAIN'
"""

ENV = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
export MASTER_ADDR=127.0.0.1 MASTER_PORT=PORT OMP_NUM_THREADS=1
srun python TRAIN
"""


STANDALONE = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
export OMP_NUM_THREADS=1
torchrun --standalone --nproc-per-node 4 TRAIN
"""
ON_ONE_NODE = "[(0, 0), (1, 1), (2, 2), (3, 3)]"
ON_TWO_NODES = "[(0, 0), (1, 1), (2, 0), (3, 1)]"


def filled(text):
    return text.replace("PORT", str(random.randint(20000, 29999))).replace("TRAIN", TRAIN)


def loss_of(text, places):
    """What the training said in the end, if its four ranks were there."""
    match = re.search(r"world (\d+) places (\[.*\]) loss (\S+)", text)
    assert match and (match[1], match[2]) == ("4", places), text
    assert float(match[3]) < 1e-2, text
    return match[3]


class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=4).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.environment["PATH"] = f"{VENV}/bin:{cls.cluster.environment['PATH']}"
        cls.losses = {}

    def said(self, job, text, places=ON_TWO_NODES):
        found = self.cluster.wait(int(job), LIMIT_S)
        text = text() if text is not None else self.cluster.logs(job)
        self.assertEqual(found["state"], "completed", text)
        loss = loss_of(text, places)
        # The samples of a rank are the same whoever started it.
        self.assertEqual(loss, self.losses.setdefault("loss", loss))

    def script(self, name, text, places=ON_TWO_NODES):
        path = f"{self.cluster.folder}/{name}"
        job = self.cluster.run("--parsable", "-o", path + ".out", name="sbatch", input=filled(text)).stdout.strip()

        def output():
            with open(path + ".out") as file:
                return file.read()
        self.said(job, output, places)

    def test_torchrun_on_one_node(self):
        self.script("standalone", STANDALONE, ON_ONE_NODE)

    def test_torchrun_by_the_published_batch_script(self):
        self.script("torchrun", TORCHRUN)

    def test_ranks_that_srun_starts_find_each_other(self):
        self.script("env", ENV)

    def test_ranks_of_dove_submit_find_each_other(self):
        job = self.cluster.run("submit", "-o", "name", "-N2", "--ntasks-per-node=2", "--export", "ALL,OMP_NUM_THREADS=1", "--",
                               "python", TRAIN).stdout.strip()
        self.said(job, None)


if __name__ == "__main__":
    if not os.path.exists(VENV + "/ready"):
        print("there is no PyTorch in build/torch: make test-torch installs it")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
