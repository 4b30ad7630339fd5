#!/usr/bin/env python3
"""What a server says when it cannot start, and that a log which was tampered with is found."""
import os
import socket
import sqlite3
import subprocess
import tempfile
import unittest

from cluster import DOVE, Cluster, until


def server(*options, **environment):
    return subprocess.run([DOVE, "server", *options], capture_output=True, text=True, timeout=20,
                          env={**os.environ, **environment})


def restart_as_if_set_back(cluster, by_s):
    cluster.server.terminate()
    cluster.server.wait(20)
    kept = os.path.join(cluster.data, "clock")
    with open(kept) as file:
        boot, at_us, *rest = file.read().split()
    with open(kept, "w") as file:
        file.write(" ".join([boot, str(int(at_us) + by_s * 1_000_000), *rest]) + "\n")
    cluster.start_server()
    until(lambda: cluster.submit({"name": "x", "command": ["true"], "hold": True}), 20, "a batch")
    return cluster.api.raw("GET", "/readyz")


def leaps(cluster, field):
    return [record["data"][field] for record in cluster.api.call("GET", "/v1/events?kind=ClockLeapt")["events"]]


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
        self.assertIn("did you mean `port`", done.stderr)
        done = server("--data", self.data, DOVE_PORT="many")
        self.assertIn("DOVE_PORT", done.stderr)
        done = server("--data", self.data, "--prot", "1")
        self.assertIn("--port", done.stderr)

    def test_the_administrator_of_the_machine_needs_no_token(self):
        with Cluster(nodes=1) as cluster:
            os.rename(cluster.data + "/token", cluster.data + "/token.away")
            self.assertIn("node1", cluster.run("nodes").stdout)
            self.assertEqual(os.stat(cluster.data + "/socket").st_mode & 0o777, 0o600)
            job = cluster.submit({"name": "x", "command": ["sleep", "300"]})
            cluster.wait_state(job, "running", 20)
            self.assertEqual(cluster.run("exec", str(job), "--", "echo", "inside").stdout, "inside\n")
            # A token speaks for whoever it is of, here too.
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(cluster.data + "/socket")
                peer.sendall(b"GET /v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n")
                self.assertIn(b" 401 ", peer.recv(100))
            os.rename(cluster.data + "/token.away", cluster.data + "/token")

    def test_a_restart_does_not_take_over_a_clock_that_leapt_until_somebody_accepts_it(self):
        with Cluster(nodes=0) as cluster:
            refused = cluster.run("controller", "accept-clock", check=False)
            self.assertEqual(refused.returncode, 4, refused.stderr)
            self.assertIn("nothing to accept", refused.stderr)
            status, _, text = restart_as_if_set_back(cluster, 7200)
            with open(cluster.log.name) as file:
                said = [line for line in file if "clock_leapt" in line]
            self.assertEqual(len(said), 1, text)
            self.assertIn("leapt by -72", said[0].replace("-7199", "-7200"))
            self.assertIn("dove controller accept-clock", said[0])
            until(lambda: leaps(cluster, "slewed") == [False], 20, "the leap to be in the log")
            cluster.run("controller", "accept-clock")
            until(lambda: leaps(cluster, "slewed") == [False, True], 20, "times run towards the clock")
            self.assertIn("ClockAccepted", cluster.run("audit").stdout)
            restart_as_if_set_back(cluster, 0)
            until(lambda: leaps(cluster, "slewed") == [False, True, True], 20, "nobody to be asked again")

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
            done = server("--data", cluster.data, "--port", "0")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"record {seq} of the log", done.stderr)


class DamagedBlob(unittest.TestCase):
    """One bit of what a job runs."""

    def setUp(self):
        self.cluster = Cluster(nodes=1).__enter__()

    def tearDown(self):
        self.cluster.__exit__(None, None, None)

    def stop_and_flip(self, marker):
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        database = sqlite3.connect(os.path.join(self.cluster.data, "log.sqlite"))
        found = [(sha256, bytes) for sha256, bytes in database.execute("select sha256, bytes from blobs")
                 if marker in bytes]
        self.assertEqual(len(found), 1)
        sha256, blob = found[0][0], bytearray(found[0][1])
        blob[5] ^= 1
        database.execute("update blobs set bytes = ? where sha256 = ?", (bytes(blob), sha256))
        database.commit()
        database.close()
        verify = self.cluster.run("replay", "--verify", self.cluster.data, check=False)
        self.assertEqual(verify.returncode, 1)
        self.assertIn(f"DAMAGED: blob {sha256}", verify.stdout)
        self.assertNotIn("verified:", verify.stdout)
        return sha256

    def test_of_a_job_that_is_over_is_set_aside(self):
        over = self.cluster.submit({"name": "over", "command": ["echo", "marker-over"]})
        waits = self.cluster.submit({"name": "waits", "command": ["echo", "marker-waits"], "hold": True})
        self.cluster.wait(over)
        sha256 = self.stop_and_flip(b"marker-over")
        self.cluster.start_server()

        def set_aside():
            with open(self.cluster.log.name) as file:
                return [line for line in file if "blob_set_aside" in line]
        until(set_aside, 30, "the blob to be set aside")
        self.cluster.wait_connected()
        self.assertEqual(self.cluster.job(over)["state"], "completed")
        self.cluster.api.call("POST", f"/v1/jobs/{waits}/release")
        self.assertEqual(self.cluster.wait(waits)["state"], "completed")
        again = self.cluster.submit({"name": "over", "command": ["echo", "marker-over"]})
        self.assertEqual(self.cluster.wait(again)["state"], "completed", "the same bytes, stored anew")
        said = set_aside()
        self.assertEqual(len(said), 1)
        self.assertIn(sha256, said[0])
        self.assertIn(f'"jobs":"{over}"', said[0])
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        self.assertIn("verified: every decision, blob and snapshot",
                      self.cluster.run("replay", "--verify", self.cluster.data).stdout)

    def test_that_a_live_job_needs_refuses(self):
        job = self.cluster.submit({"name": "waits", "command": ["echo", "marker-waits"], "hold": True})
        sha256 = self.stop_and_flip(b"marker-waits")
        done = server("--data", self.cluster.data, "--port", "0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(sha256, done.stderr)
        self.assertIn(f"what job {job} is to run is damaged", done.stderr)
        self.assertIn("backup", done.stderr)

    def test_a_snapshot_is_verified_too(self):
        self.cluster.wait(self.cluster.submit({"name": "x", "command": ["true"]}))
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        database = sqlite3.connect(os.path.join(self.cluster.data, "log.sqlite"))
        seq, body = database.execute("select seq, bytes from snapshots order by seq desc limit 1").fetchone()
        database.execute("update snapshots set bytes = ? where seq = ?", (body[:-1] + bytes([body[-1] ^ 1]), seq))
        database.commit()
        database.close()
        done = self.cluster.run("replay", "--verify", self.cluster.data, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"DAMAGED: the snapshot of record {seq}", done.stdout)


if __name__ == "__main__":
    unittest.main()
