#!/usr/bin/env python3
"""An agent whose node has not joined says how to, and ends; it does not ask for ever."""
import os
import subprocess
import unittest

from cluster import DOVE, Cluster


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


if __name__ == "__main__":
    unittest.main()
