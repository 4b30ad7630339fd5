#!/usr/bin/env python3
"""What a server says when it cannot start, and that a log which was tampered with is found."""
import os
import socket
import sqlite3
import subprocess
import tempfile
import unittest

from cluster import DOVE, Cluster


def server(*options, **environment):
    return subprocess.run([DOVE, "server", *options], capture_output=True, text=True, timeout=20,
                          env={**os.environ, **environment})


class ServerStart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dove-start.")
        self.data = os.path.join(self.folder.name, "data")

    def tearDown(self):
        self.folder.cleanup()

    def test_used_port(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = str(other.getsockname()[1])
            done = server("--data", self.data, "--port", port)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(port, done.stderr)
        self.assertIn("--port", done.stderr)

    def test_second_server_on_the_same_data(self):
        with Cluster(nodes=0) as cluster:
            done = server("--data", cluster.data, "--port", "0")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(cluster.data, done.stderr)

    def test_config_file_environment_and_flags(self):
        path = os.path.join(self.folder.name, "server.yaml")
        with open(path, "w") as file:
            file.write("port: 0\nprot: 1\n")
        done = server("--config", path, "--data", self.data)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{path}:2:1", done.stderr)
        self.assertIn("did you mean 'port'", done.stderr)
        done = server("--data", self.data, DOVE_PORT="many")
        self.assertIn("DOVE_PORT", done.stderr)
        done = server("--data", self.data, "--prot", "1")
        self.assertIn("--port", done.stderr)

    def test_an_edited_record_is_found(self):
        with Cluster(nodes=1) as cluster:
            for _ in range(5):
                cluster.wait(cluster.submit({"name": "x", "command": ["true"]}))
            cluster.server.terminate()
            cluster.server.wait(20)
            clean = cluster.run("replay", "--verify", cluster.data)
            self.assertIn("verified", clean.stdout)
            path = next(os.path.join(cluster.data, name) for name in os.listdir(cluster.data)
                        if name.endswith(".sqlite"))
            database = sqlite3.connect(path)
            seq, body = database.execute("select seq, body from records order by seq limit 1 offset 4").fetchone()
            database.execute("update records set body = ? where seq = ?", (body[:-1] + b"\x7f", seq))
            database.commit()
            database.close()
            done = cluster.run("replay", "--verify", cluster.data, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(seq), done.stderr + done.stdout)
            cluster.start_server_fails = server("--data", cluster.data, "--port", "0")
            self.assertNotEqual(cluster.start_server_fails.returncode, 0)


if __name__ == "__main__":
    unittest.main()
