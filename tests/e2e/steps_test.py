#!/usr/bin/env python3
"""Steps as a Slurm user knows them: what a batch script and its srun find, hold and print."""
import os
import re
import unittest

from cluster import Cluster

RANKS = r"^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|MASTER_\w+|PET_\w+|TF_CONFIG|PMIX?_\w+|OMPI_COMM\w+)$"


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def batch(self, script, *options, state="completed", limit_s=60):
        """What a batch script prints."""
        folder = os.path.join(self.cluster.folder, "home")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, self._testMethodName + ".sh")
        with open(path, "w") as file:
            file.write("#!/bin/bash\n" + script)
        output = path + ".out"
        job = int(self.cluster.run("--parsable", "-o", output, *options, path, name="sbatch").stdout)
        ended = self.cluster.wait(job, limit_s)
        with open(output) as file:
            said = file.read()
        self.assertEqual(ended["state"], state, said)
        return said

    # -- what they find in their environment

    def test_a_batch_script_is_no_rank(self):
        said = self.batch("env -0 | tr '\\n' ' ' | tr '\\0' '\\n'\n", "-n4")
        names = {line.split("=")[0] for line in said.splitlines()}
        self.assertEqual([name for name in names if re.match(RANKS, name)], [])
        self.assertIn("SLURM_NTASKS=4", said.splitlines())
        self.assertIn("SLURM_PROCID=0", said.splitlines())

    def test_a_batch_script_finds_what_was_asked_for(self):
        said = self.batch("env | grep ^SLURM_\n", "-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "-c2").splitlines()
        for word in ["GPUS_PER_NODE=2", "GPUS_ON_NODE=2", "CPUS_PER_TASK=2", "NTASKS=4", "NTASKS_PER_NODE=2", "JOB_GPUS=0,1",
                     "TASKS_PER_NODE=2(x2)", "JOB_CPUS_PER_NODE=4(x2)", "JOB_NUM_NODES=2", "JOB_QOS=default"]:
            self.assertIn("SLURM_" + word, said)
        said = self.batch("env | grep ^SLURM_\n", "-N2")
        self.assertNotRegex(said, "(?m)^SLURM_(NTASKS|NPROCS|CPUS_PER_TASK|GPUS)")

    def test_a_step_fills_gaps_only(self):
        said = self.batch("""\
export MASTER_ADDR=my.host MASTER_PORT=12345 WORLD_SIZE=2
RANK=1 srun -n1 -N1 -w node2 bash -c 'echo A $MASTER_ADDR $MASTER_PORT $WORLD_SIZE $RANK $LOCAL_RANK'
srun -n1 --export=ALL,MASTER_ADDR=y,MASTER_PORT=2 bash -c 'echo B $MASTER_ADDR $MASTER_PORT'
unset MASTER_ADDR MASTER_PORT WORLD_SIZE
srun -n2 -N2 bash -c 'echo C $WORLD_SIZE $RANK'
srun -n1 srun -n2 -N2 bash -c 'echo D $WORLD_SIZE $RANK'
""", "-N2", "--ntasks-per-node=2")
        self.assertEqual(sorted(said.splitlines()), ["A my.host 12345 2 1 0", "B y 2", "C 2 0", "C 2 1", "D 2 0", "D 2 1"])


if __name__ == "__main__":
    unittest.main()
