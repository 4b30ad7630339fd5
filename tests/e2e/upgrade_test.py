#!/usr/bin/env python3
"""An upgrade of the controllers: until an administrator finishes it, the log is written as the former version did, and
goes without what that one could not read. The former version is this one's program of the former level (dove-former);
DOVE_FORMER=PROGRAM names another. With several controllers: upgrade_standby_test.py."""
import json
import subprocess
import sys
import unittest

from cluster import DOVE, FORMER, Cluster, until
from executors_test import FakeAdapter


class Turns(Cluster):
    """Its server is of the former version, or of this one."""
    program = FORMER

    def spawn(self, *arguments, program=DOVE, **more):
        return super().spawn(*arguments, program=self.program if arguments[0] == "server" else program, **more)


class Upgrade(unittest.TestCase):
    def restart(self, cluster):
        cluster.server.terminate()
        cluster.server.wait(20)
        cluster.start_server()
        cluster.wait_connected()

    def verify(self, cluster, program=DOVE):
        """Also that there is no record which the program cannot read."""
        done = subprocess.run([program, "replay", "--verify", cluster.data], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def level(self, cluster):
        return cluster.api.call("GET", "/v1/cluster")["level"]

    def test_what_is_new_waits_for_its_end(self):
        with Cluster(nodes=1, gpus=2, server_options=["--first-level", "1"]) as cluster:
            token = cluster.api.call("POST", "/v1/users/slurm-1/token?create=1")["token"]
            cluster.run("apply", "-f", "-", input="kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [node1]\n")
            node = lambda: cluster.api.call("GET", "/v1/nodes/node1")  # noqa: E731
            adapter = FakeAdapter(cluster, token)
            adapter.nodes = [{"name": "node1", "state": "up", "features": ["ib"]}]
            try:
                until(lambda: node()["state"] == "ready", 20, "the node to take jobs")
                head = cluster.api.call("GET", "/v1/cluster")["log_head"]
                self.assertEqual(cluster.wait(cluster.submit({"name": "a", "command": ["true"]}))["state"], "completed")
                self.restart(cluster)
                self.assertEqual(self.level(cluster), 1)
                self.assertEqual(node()["features"], [])
                self.assertLess(cluster.api.call("GET", "/v1/cluster")["log_head"], head + 60, "the same is no news twice")
                checks = json.loads(cluster.run("doctor", "-o", "json", "cluster", check=False).stdout)["checks"]
                said = [check for check in checks if check["subject"] == "level"]
                self.assertEqual([(check["verdict"], check["remedy"].split(",")[0]) for check in said],
                                 [("warning", "dove upgrade finish")])
                self.assertIn("level 2", cluster.run("upgrade", "finish").stdout)
                until(lambda: node()["features"] == ["ib"], 20, "what is new")
                again = cluster.run("upgrade", "finish", check=False)
                self.assertNotEqual(again.returncode, 0)
                self.assertIn("nothing to finish", again.stderr)
            finally:
                adapter.end()
            self.restart(cluster)
            self.assertEqual((self.level(cluster), node()["features"]), (2, ["ib"]))
            self.assertIn("LevelRaised", cluster.run("audit").stdout)
            self.verify(cluster)

    def test_the_former_version_leads_again_until_then(self):
        with Turns(nodes=1) as cluster:
            ends = lambda: self.assertEqual(  # noqa: E731
                cluster.wait(cluster.submit({"name": "a", "command": ["true"]}))["state"], "completed")
            ends()
            long = cluster.submit({"name": "long", "command": ["sh", "-c", f"while [ ! -e {cluster.folder}/end ]; do sleep .1; done"]})
            cluster.wait_state(long, "running")
            for program in (DOVE, FORMER, DOVE):
                cluster.program = program
                self.restart(cluster)
                ends()
                self.assertEqual(cluster.job(long)["state"], "running")
                self.verify(cluster, FORMER)
            self.assertEqual(self.level(cluster), 1)
            cluster.run("upgrade", "finish")
            open(f"{cluster.folder}/end", "w").close()
            self.assertEqual(cluster.wait(long)["state"], "completed")
            ends()
            self.assertEqual(len(cluster.job(long)["attempts"]), 1)
            self.verify(cluster)
            cluster.server.terminate()
            cluster.server.wait(20)
            done = subprocess.run([FORMER, "server", "--data", cluster.data, "--port", "0"], capture_output=True, text=True,
                                  timeout=30)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("newer version of dove", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
