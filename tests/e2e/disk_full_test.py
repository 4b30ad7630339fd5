#!/usr/bin/env python3
"""A full disk of the controller is reported to clients and operators, and the job that fills it can be ended. So is one of the
database that controllers share: what is refused is not written, and what is asked again is written once. The disk is a small tmpfs
that only this test's mount namespace sees. Needs root.
"""
import errno
import json
import os
import secrets
import subprocess
import sys
import tempfile
import unittest

from cluster import SKIP, ApiError, Cluster, until
from controllers import Controllers
from postgres import missing

MB = 1 << 20


class SmallDisk(unittest.TestCase):
    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="dove-disk.")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "none", self.disk], check=True)
        self.cluster = self.begin()
        self.cluster.__enter__()

    def tearDown(self):
        self.cluster.__exit__(None, None, None)
        subprocess.run(["umount", "-l", self.disk], check=True)
        os.rmdir(self.disk)

    def fill(self, leave):
        """Leaves that many bytes free, or all that can be had for 0."""
        file = os.open(self.disk + "/filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            facts = os.statvfs(self.disk)
            left = facts.f_bavail * facts.f_frsize - leave
            while left > 0 or leave == 0:
                left -= os.write(file, b"x" * (min(left, MB) if left > 0 else 4096))
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOSPC)
        finally:
            os.close(file)

    def log(self):
        with open(self.cluster.log.name) as file:
            return file.read()


class DiskFull(SmallDisk):
    def begin(self):
        cluster = Cluster(nodes=1, cores=8)
        cluster.data = os.path.join(self.disk, "server")
        return cluster

    def ready(self):
        status, _, body = self.cluster.api.raw("GET", "/readyz")
        return status, json.loads(body)

    def test_low_then_full_then_room(self):
        job = self.cluster.submit({"name": "hog", "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        self.assertEqual(self.ready()[0], 200)

        self.fill(30 * MB)
        until(lambda: self.ready()[0] == 503, 20, "the server to be not ready")
        self.assertIn("wants 64 MB free, and has", self.ready()[1]["detail"])
        with self.assertRaises(ApiError) as refused:
            self.cluster.submit({"name": "new", "command": ["true"]})
        self.assertEqual(refused.exception.status, 507)
        self.assertRegex(refused.exception.body["detail"], r"it wants 64 MB free, and has \d+ MB")
        self.assertIn("trouble: the disk of the controller", self.cluster.run("nodes").stderr)
        self.assertIn("trouble: the disk of the controller", self.cluster.run("top", "--once").stdout)
        self.assertEqual(self.log().count('"event":"disk_low"'), 1)

        self.fill(0)
        until(lambda: '"event":"disk_full"' in self.log(), 20, "the log to say so")
        with self.assertRaises(ApiError) as refused:
            self.cluster.api.call("POST", f"/v1/jobs/{job}/hold")
        self.assertEqual(refused.exception.status, 507)
        self.cluster.run("cancel", str(job))
        self.assertIn(self.cluster.job(job)["state"], {"stopping", "cancelled"})
        until(lambda: not any("sleep" in line for line in self.commands()), 40, "its task to end")
        self.assertEqual(self.log().count('"event":"disk_full"'), 1, "once, not at each try")

        os.unlink(self.disk + "/filler")
        until(lambda: self.ready()[0] == 200, 20, "the server to be ready")
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        self.assertEqual(self.cluster.wait(self.cluster.submit({"name": "new", "command": ["true"]}))["state"],
                         "completed")
        self.assertNotIn("trouble", self.cluster.run("nodes").stderr)

    def test_a_server_that_is_begun_anew_answers(self):
        job = self.cluster.submit({"name": "long", "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        self.fill(0)
        until(lambda: '"event":"disk_full"' in self.log(), 20, "the log to say so")
        self.cluster.server.kill()
        self.cluster.server.wait(10)
        server = self.cluster.spawn("server", "--data", self.cluster.data, "--port", str(self.cluster.port),
                                    *self.cluster.server_options, stdout=subprocess.DEVNULL)
        self.cluster.server = server

        def answers():
            self.assertIsNone(server.poll(), self.log()[-2000:])
            try:
                return self.cluster.api.raw("GET", "/readyz")[0]
            except OSError:
                return None

        until(lambda: answers() == 503, 20, "it to answer")
        os.unlink(self.disk + "/filler")
        until(lambda: answers() == 200, 30, "the server to be ready")
        self.assertEqual(self.cluster.job(job)["state"], "running")

    def commands(self):
        """Command lines of the cluster's processes."""
        for pid in self.cluster.processes():
            try:
                with open(f"/proc/{pid}/cmdline") as file:
                    yield file.read()
            except OSError:
                continue


@unittest.skipIf(missing(), missing())
class DatabaseFull(SmallDisk):
    def begin(self):
        cluster = Controllers(count=2, nodes=1, cores=8)
        cluster.postgres.folder = os.path.join(self.disk, "postgres")
        cluster.postgres.data = os.path.join(self.disk, "postgres/data")
        return cluster

    def submit_large(self, name):
        spec = {"name": name, "command": ["true"], "environment": {"LARGE": secrets.token_hex(50_000)}}
        headers = {"Idempotency-Key": name}
        for _ in range(20):  # a table has some room left
            status, _, body = self.cluster.api.raw("POST", "/v1/jobs", spec, headers)
            if status != 201:
                break
            headers = {"Idempotency-Key": secrets.token_hex(8)}
        return headers, spec, status, json.loads(body)

    def test_full_then_room(self):
        job = self.cluster.submit({"name": "long", "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        leader = self.cluster.wait_leader()
        self.fill(0)
        headers, spec, status, said = self.submit_large("large")
        self.assertEqual((status, said["code"]), (507, "disk_full"), said)
        full = "the disk of the controllers' database is full; nothing was accepted, make room there and try again"
        self.assertEqual(said["detail"], full)
        status, ready = leader.ask("/readyz")
        self.assertEqual((status, json.loads(ready)["code"]), (503, "disk_full"), ready)
        self.assertEqual(json.loads(ready)["detail"], full, "whoever asks learns neither where it is nor what it said")
        self.assertIn("the disk of the PostgreSQL server at 127.0.0.1 is full (", self.log())
        self.assertIn("trouble: the disk of the controllers' database",
                      self.cluster.run("nodes", DOVE_URL=self.cluster.url, DOVE_TOKEN=self.cluster.token).stderr)
        self.assertEqual(self.cluster.job(job)["state"], "running")
        before = len(self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"])

        os.unlink(self.disk + "/filler")
        until(lambda: leader.ask("/readyz")[0] == 200, 60, "the leader to be ready, though nobody asks it for anything")
        ids = {self.cluster.api.call("POST", "/v1/jobs", spec, headers)["id"] for _ in range(3)}
        self.assertEqual(len(ids), 1, "it is there once")
        self.assertEqual(len(self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]), before + 1)
        self.assertEqual(self.cluster.wait(ids.pop())["state"], "completed")
        self.assertEqual(self.cluster.job(job)["state"], "running")
        for event in ("disk_full", "disk_has_room"):
            self.assertEqual(self.log().count(f'"event":"{event}"'), 1, event)
        self.assertEqual(self.log().count('"event":"leads"'), 1, "the lease was renewed all the time")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root, to mount a small disk")
        sys.exit(SKIP)
    if "DOVE_OWN_MOUNTS" not in os.environ:
        probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
        if probe.returncode != 0:
            print("skipped: nothing can be mounted here")
            sys.exit(SKIP)
        os.environ["DOVE_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    unittest.main()
