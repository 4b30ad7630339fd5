#!/usr/bin/env python3
"""A full disk of the controller is said to clients and operators, and the job that fills it can be ended. The disk is a
small tmpfs that only this test's mount namespace sees. Needs root.
"""
import errno
import json
import os
import subprocess
import sys
import tempfile
import unittest

from cluster import SKIP, ApiError, Cluster, until

MB = 1 << 20


class DiskFull(unittest.TestCase):
    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="dove-disk.")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "none", self.disk], check=True)
        self.cluster = Cluster(nodes=1, cores=8)
        self.cluster.data = os.path.join(self.disk, "server")
        self.cluster.__enter__()

    def tearDown(self):
        self.cluster.__exit__(None, None, None)
        subprocess.run(["umount", "-l", self.disk], check=True)
        os.rmdir(self.disk)

    def fill(self, leave):
        """Leaves so many bytes free, or all that can be had for 0."""
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

    def ready(self):
        status, _, body = self.cluster.api.raw("GET", "/readyz")
        return status, json.loads(body)

    def log(self):
        with open(self.cluster.log.name) as file:
            return file.read()

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

    def commands(self):
        """Command lines of the cluster's processes."""
        for pid in self.cluster.processes():
            try:
                with open(f"/proc/{pid}/cmdline") as file:
                    yield file.read()
            except OSError:
                continue


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
