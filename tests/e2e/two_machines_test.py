#!/usr/bin/env python3
# waits
"""One name, two machines: a copy of an agent's directory is refused and harms nothing, until somebody says that the first
machine is off. And a controller that is away for longer than the grace ends no task. With TLS, as between machines."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster import DOVE, Cluster, until

FENCE_S = 1


class TwoMachines(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, tls=True, server_options=["--fence-s", str(FENCE_S), "--disconnect-grace-s", "60",
                                                        "--silent-after-s", "1", "--heartbeat-ms", "200"]).__enter__()
        self.copies = []

    def tearDown(self):
        for copy in self.copies:
            copy.kill()
            copy.wait(10)
        self.cluster.__exit__(None, None, None)

    def start_copy(self):
        original = os.path.join(self.cluster.folder, "nodes", "node1")
        folder = os.path.join(self.cluster.folder, "copy")
        os.makedirs(folder)
        for name in os.listdir(original):
            if os.path.isfile(os.path.join(original, name)):
                shutil.copy(os.path.join(original, name), folder)
        copy = subprocess.Popen([DOVE, "agent", "--name", "node1", "--url", self.cluster.url, "--run-as-self", "--cores", "8",
                                 "--memory", "16Gi", "--data", folder, "--boot-id", "boot-of-the-copy", "--machine-id", "copy"],
                                stdin=subprocess.DEVNULL, stderr=self.cluster.log, env=self.cluster.environment,
                                start_new_session=True)
        self.copies.append(copy)

    def node(self):
        return self.cluster.api.call("GET", "/v1/nodes/node1")

    def test_a_copy_waits_until_the_first_is_off(self):
        job = self.cluster.submit({"name": "long", "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        self.start_copy()
        refused = until(lambda: self.node()["refused"], 20, "the copy to be refused")
        self.assertEqual(refused["code"], "node_exists_elsewhere")
        until(lambda: self.node()["refused"]["tries"] >= 2, 30, "the copy to try again")
        shown = self.cluster.run("nodes", "node1").stdout
        self.assertIn("Refused", shown)
        self.assertIn("dove join-token create", shown)
        after = self.cluster.job(job)
        self.assertEqual((after["state"], len(after["attempts"])), ("running", 1))
        # The first machine goes silent: its agent and its tasks are stopped, not ended.
        os.kill(self.cluster.agents["node1"].pid, signal.SIGSTOP)
        until(lambda: self.node()["contact"] == "silent", 20, "the silence")
        without = self.cluster.run("node", "lost", "node1", check=False)
        self.assertEqual(without.returncode, 2)
        self.assertIn("--is-off", without.stderr)
        self.cluster.run("node", "lost", "node1", "--is-off", "-r", "unplugged")
        until(lambda: self.node()["contact"] == "connected" and len(self.cluster.job(job)["attempts"]) == 2, 30,
              "the copy to take its place")
        said = self.cluster.run("events", "--limit", "1000", "-o", "json").stdout
        self.assertIn("NodeDeclaredOff", said)
        self.assertIn("unplugged", said)
        os.kill(self.cluster.agents["node1"].pid, signal.SIGCONT)


class Outage(unittest.TestCase):
    def test_a_controller_that_is_away_ends_no_task(self):
        with Cluster(nodes=1, tls=True, server_options=["--fence-s", str(FENCE_S), "--disconnect-grace-s", "1", "--silent-after-s", "3",
                                                        "--heartbeat-ms", "200"]) as cluster:
            job = cluster.submit({"name": "long", "command": ["sleep", "600"]})
            cluster.wait_state(job, "running")
            for end in ("kill", "terminate"):
                getattr(cluster.server, end)()
                cluster.server.wait(20)
                time.sleep(7)  # longer than silence, grace and fence
                cluster.start_server()
                cluster.wait_connected()
                after = cluster.job(job)
                self.assertEqual((after["state"], len(after["attempts"])), ("running", 1))
            cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
            cluster.wait(job)


if __name__ == "__main__":
    unittest.main()
