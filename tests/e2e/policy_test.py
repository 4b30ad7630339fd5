#!/usr/bin/env python3
"""A policy from a shared library: compiled from the example, named by a queue and by the settings, logged like any
other, and counted as unverified by a replay without it. And round-robin, whose turns outlast the controller."""
import json
import os
import subprocess
import tempfile
import unittest

from cluster import Cluster, DOVE, ROOT

EXAMPLE = os.path.join(ROOT, "examples/policies/small_first.c")


class Policy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.library = os.path.join(self.folder.name, "small_first.so")
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-std=c99", "-fPIC", "-shared", "-I", os.path.join(ROOT, "api"),
                        "-o", self.library, EXAMPLE], check=True)

    def test_small_jobs_pass_large_ones_and_the_replay_says_what_it_did_not_verify(self):
        with Cluster(nodes=1, gpus=4, cores=8, server_options=["--policies", self.library]) as cluster:
            cluster.run("apply", "-f", "-", input="kind: Queue\nname: default\norder: small_first\n")
            cluster.run("apply", "-f", "-", input="kind: Cluster\nplacement: small_first\n")
            unknown = cluster.run("apply", "-f", "-", input="kind: Cluster\nplacement: smal_first\n", check=False)
            self.assertNotEqual(unknown.returncode, 0)
            self.assertIn("small_first", unknown.stderr)
            holder = cluster.submit({"command": ["sleep", "60"], "gpus": 4, "kill_grace_s": 1})
            cluster.wait_state(holder, "running")
            large = cluster.submit({"command": ["true"], "gpus": 4})
            small = cluster.submit({"command": ["true"], "gpus": 1})
            cluster.run("cancel", str(holder))
            ended = [cluster.wait(job) for job in (large, small)]
            self.assertEqual([job["state"] for job in ended], ["completed", "completed"])
            began = [job["attempts"][0]["started_at_us"] for job in ended]
            self.assertGreater(began[0], began[1], "the small one came first")
            cluster.stop()
            done = subprocess.run([DOVE, "replay", "--verify", "-o", "json", cluster.data], check=True,
                                  capture_output=True, text=True)
            report = json.loads(done.stdout)
            self.assertTrue(report["clean"])
            self.assertGreater(report["unverified_batches"], 0)
            self.assertEqual(report["verified_batches"], 0)

    def test_a_library_that_cannot_be_used_stops_the_start(self):
        done = subprocess.run([DOVE, "server", "--data", os.path.join(self.folder.name, "data"), "--port", "0",
                               "--policies", EXAMPLE], capture_output=True, text=True, timeout=20)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(EXAMPLE, done.stderr)


class Turns(unittest.TestCase):
    def test_they_outlast_the_controller_and_are_verified(self):
        nodes = []
        with Cluster(nodes=2, gpus=2, cores=4) as cluster:
            cluster.run("apply", "-f", "-", input="kind: Cluster\nplacement: round_robin\n")
            for is_first in (True, False, False):
                if not is_first:
                    cluster.server.kill()
                    cluster.server.wait(10)
                    cluster.start_server()
                    cluster.wait_connected()
                job = cluster.submit({"command": ["sleep", "60"], "gpus": 1, "kill_grace_s": 1})
                cluster.wait_state(job, "running")
                nodes += cluster.job(job)["nodes"]
            cluster.stop()
            done = subprocess.run([DOVE, "replay", "--verify", "-o", "json", cluster.data], check=True,
                                  capture_output=True, text=True)
        self.assertEqual(len(set(nodes[:2])), 2, nodes)
        self.assertEqual(nodes[2], nodes[0])
        report = json.loads(done.stdout)
        self.assertTrue(report["clean"])
        self.assertEqual(report["unverified_batches"], 0)


if __name__ == "__main__":
    unittest.main()
