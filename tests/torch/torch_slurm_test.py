#!/usr/bin/env python3
"""PyTorch beside a real Slurm: a batch script with torchrun, unchanged behind the gate and through our sbatch where Slurm runs the
project's jobs; the published one of two nodes behind the gate; and the ranks of a command on two nodes that Slurm runs for us.
All of them reach the same loss, which is that of torch_test.py. `make test-torch` runs it.
"""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/peers")]
from shared_nodes import DOVE, SKIP  # noqa: E402
from tool_places import ToolPlaces, missing  # noqa: E402
from torch_test import LIMIT_S, ON_ONE_NODE, ON_TWO_NODES, STANDALONE, TORCHRUN, TRAIN, VENV, filled, loss_of  # noqa: E402


class TorchBesideSlurm(ToolPlaces):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.losses = {}
        for place in cls.places:
            place.environment["PATH"] = f"{VENV}/bin:{place.environment['PATH']}"

    def run_script(self, place, name, text):
        path = os.path.join(place.folder, name)
        with open(path, "w") as file:
            file.write(filled(text))
        os.chmod(path, 0o755)
        done = place.run("sbatch", "-W", "--parsable", "-o", path + ".out", path, limit_s=LIMIT_S)
        with open(path + ".out") as file:
            said = file.read()
        self.assertEqual(done.returncode, 0, done.stderr + said)
        return said

    def same(self, loss):
        self.assertEqual(loss, self.losses.setdefault("loss", loss))

    def test_torchrun_on_one_node_in_both_places(self):
        for place in self.places:
            with self.subTest(place.name):
                self.same(loss_of(self.run_script(place, "standalone", STANDALONE), ON_ONE_NODE))

    def test_the_published_script_of_two_nodes_behind_the_gate(self):
        self.same(loss_of(self.run_script(self.places[0], "torchrun", TORCHRUN), ON_TWO_NODES))

    def test_ranks_of_a_command_on_two_nodes_that_slurm_runs(self):
        place = self.places[1]
        made = place.run(DOVE, "submit", "-o", "name", "-N2", "--ntasks-per-node=2", "--stdout", place.folder + "/ranks.out",
                         "--export", "ALL,OMP_NUM_THREADS=1", "--", "python", TRAIN)
        self.assertEqual(made.returncode, 0, made.stderr)
        job = made.stdout.strip()
        found = self.cluster.wait(int(job), LIMIT_S)
        with open(place.folder + "/ranks.out") as file:
            said = file.read()
        self.assertEqual(found["state"], "completed", said)
        self.same(loss_of(said, ON_TWO_NODES))


if __name__ == "__main__":
    why = missing() or ("" if os.path.exists(VENV + "/ready") else "no PyTorch in build/torch")
    if why:
        print(f"{why}: make test-torch, and tools/setup peers (as root) with tools/peer_tools, install it")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
