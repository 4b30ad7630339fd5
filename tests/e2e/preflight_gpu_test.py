#!/usr/bin/env python3
"""Preflight has a job's GPUs fill memory and give it back: one that does not keeps the job away. NVML and CUDA's driver
are fakes (src/devices/nvml, fake_cuda.c)."""
import json
import os
import unittest

from cluster import Cluster, until
from devices_test import FAKE, GPUS
from shares_test import build


class PreflightOfGpus(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=0, gpus=None, agent_options=["--nvml", os.path.abspath(FAKE)])
        folder = self.cluster.folder
        build(folder)
        with open(folder + "/gpus", "w") as file:
            file.write(GPUS)
        self.cluster.environment.update({"DOVE_FAKE_NVML": folder + "/gpus", "LD_LIBRARY_PATH": folder})
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.cluster.api.call("PUT", "/v1/objects/cluster/cluster",
                              {"kind": "Cluster", "name": "cluster", "preflight": True})

    def begin(self, **environment):
        self.cluster.environment.update(environment)
        self.cluster.names = ["node1"]
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()

    def failures(self):
        return self.cluster.run("events", "-k", "PreflightFailed", "-o", "json").stdout.splitlines()

    def test_gpus_that_do_as_told_let_the_job_start(self):
        self.begin()
        job = self.cluster.submit({"name": "well", "command": ["true"], "gpus": 2})
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")
        self.assertEqual(self.failures(), [])

    def test_a_gpu_that_forgets_keeps_the_job_away(self):
        self.begin(DOVE_FAKE_CUDA="wrong")
        self.cluster.submit({"name": "bad", "command": ["true"], "gpus": 2})
        failed = json.dumps(until(self.failures, 60, "preflight to fail"))
        self.assertIn("GPU 1 of 2 was filled with 0x55 and has 0x54 at byte 0 (devices 0,1)", failed)
        plain = self.cluster.submit({"name": "plain", "command": ["true"]})
        self.assertEqual(self.cluster.wait(plain, 60)["state"], "completed", "a job without GPUs tries none")
        self.assertNotIn(plain, [json.loads(line)["job"] for line in self.failures()])

    def test_a_gpu_that_cuda_does_not_see_keeps_the_job_away(self):
        with open(self.cluster.folder + "/gpus", "w") as file:
            file.write(GPUS.replace("gpus 2", "gpus 3"))  # of which the fake driver has two
        self.begin()
        self.cluster.submit({"name": "bad", "command": ["true"], "gpus": 3})
        self.assertIn("CUDA sees 2 of 3 devices (devices 0,1,2)", json.dumps(until(self.failures, 60, "it to fail")))


if __name__ == "__main__":
    unittest.main()
