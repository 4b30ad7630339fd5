#!/usr/bin/env python3
"""An agent whose node has not joined says how to, and ends; it does not ask for ever."""
import os
import subprocess
import unittest

from cluster import DOVE, Cluster, until


class AgentJoin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=0).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def agent(self, *options):
        return subprocess.run([DOVE, "agent", "--name", "vm", "--url", self.cluster.url, "--run-as-self", "--cores", "2",
                               "--data", os.path.join(self.cluster.folder, "vm"), *options], capture_output=True, text=True,
                              timeout=20, env=self.cluster.environment)

    def test_without_a_token(self):
        done = self.agent()
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("this node has not joined yet: run `dove join-token create vm` on the server", done.stderr)
        self.assertIn("--join-token-file", done.stderr)

    def test_with_a_token_that_is_not_taken(self):
        path = os.path.join(self.cluster.folder, "wrong")
        with open(path, "w") as file:
            file.write("no-such-token")
        done = self.agent("--join-token-file", path)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("`dove join-token create vm`", done.stderr)

    def test_what_a_controller_told_is_forgotten_on_demand_once_no_task_may_run(self):
        self.cluster.names.append("forgetful")
        self.addCleanup(self.cluster.names.remove, "forgetful")
        self.cluster.start_agent("forgetful")
        self.cluster.wait_connected()
        self.cluster.wait(self.cluster.submit({"command": ["true"]}))
        data = os.path.join(self.cluster.folder, "nodes", "forgetful")

        def forget():
            return self.cluster.run("agent", "--forget-contact", "--data", data, check=False)
        done = forget()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("another agent runs on this data directory", done.stderr)
        self.cluster.agents["forgetful"].kill()
        self.cluster.agents["forgetful"].wait(10)
        self.assertIn("tasks of this agent may run for another", forget().stderr)
        until(lambda: forget().returncode == 0, 20, "the fence")
        self.cluster.start_agent("forgetful")
        self.cluster.wait_connected()
        self.assertEqual(self.cluster.wait(self.cluster.submit({"command": ["true"]}))["state"], "completed")


if __name__ == "__main__":
    unittest.main()
