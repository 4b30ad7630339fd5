#!/usr/bin/env python3
"""Debian's sshfs mounts a running task's files through the SSH gateway. Skips where it cannot mount (no sshfs, no /dev/fuse,
not root); with CI=true that is a failure."""
# limit_s: 120
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP = 77
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from cluster import until  # noqa: E402
from ssh_bed import MEGABYTE, SshBed  # noqa: E402


class SshfsTest(SshBed):
    def setUp(self):
        self.there = tempfile.mkdtemp(dir=self.cluster.folder)
        self.here = tempfile.mkdtemp(prefix="dove-sshfs.")
        options = ["-p", str(self.where["port"])]
        for option in (f"IdentityFile={self.folder}/ada", "IdentitiesOnly=yes", f"UserKnownHostsFile={self.known}",
                       "GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes", "BatchMode=yes"):
            options += ["-o", option]
        self.sshfs = subprocess.Popen(["sshfs", "-f", "-F", "/dev/null", *options, f"{self.job}@127.0.0.1:{self.there}", self.here],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(self.close)
        until(self.is_mounted, 20, "the mount")

    def is_mounted(self):
        self.assertIsNone(self.sshfs.poll(), self.sshfs.poll() is not None and self.sshfs.stdout.read())
        with open("/proc/self/mounts") as mounts:
            return any(f" {self.here} fuse.sshfs " in line for line in mounts)

    def close(self):
        subprocess.run(["fusermount3", "-u", "-z", self.here], capture_output=True, timeout=20)
        try:
            self.sshfs.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.sshfs.kill()
            self.sshfs.communicate()
        os.rmdir(self.here)

    def test_files_are_read_written_and_moved(self):
        data = os.urandom(5 * MEGABYTE)
        with open(self.here + "/a", "wb") as file:
            file.write(data)
        with open(self.there + "/a", "rb") as file:
            self.assertEqual(file.read(), data)
        with open(self.here + "/a", "r+b") as file:
            file.seek(MEGABYTE)
            file.write(b"in the middle")
            file.truncate(2 * MEGABYTE)
        os.chmod(self.here + "/a", 0o640)
        os.utime(self.here + "/a", (1_700_000_000, 1_700_000_000))
        os.makedirs(self.here + "/deep/er")
        os.rename(self.here + "/a", self.here + "/deep/b")
        os.symlink("b", self.here + "/deep/link")
        at = os.stat(self.there + "/deep/b")
        self.assertEqual((at.st_size, at.st_mode & 0o777, int(at.st_mtime)), (2 * MEGABYTE, 0o640, 1_700_000_000))
        self.assertEqual(os.readlink(self.there + "/deep/link"), "b")
        with open(self.here + "/deep/link", "rb") as file:
            file.seek(MEGABYTE)
            self.assertEqual(file.read(13), b"in the middle")
        with open(self.there + "/new", "w") as file:
            file.write("by the task")
        with open(self.here + "/new") as file:
            self.assertEqual(file.read(), "by the task")
        self.assertGreater(shutil.disk_usage(self.here).total, 0)
        for path in ("deep/link", "deep/b", "new"):
            os.unlink(f"{self.here}/{path}")
        os.removedirs(self.there + "/deep/er")
        with self.assertRaises(FileNotFoundError):
            open(self.here + "/deep/b").close()

    def test_a_tree_of_a_thousand_files_is_listed(self):
        for number in range(1000):
            open(f"{self.there}/{number:04}", "w").close()
        self.assertEqual(sorted(os.listdir(self.here)), [f"{number:04}" for number in range(1000)])
        subprocess.run(["rsync", "-a", self.here + "/", self.there + ".copy/"], check=True, timeout=60)
        self.assertEqual(len(os.listdir(self.there + ".copy")), 1000)


def main():
    missing = [name for name in ("ssh", "ssh-keygen", "sshfs", "fusermount3", "rsync") if not shutil.which(name)]
    if missing or os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("skipped: " + (f"there is no {missing[0]} (tools/setup peers)" if missing else "FUSE wants root and /dev/fuse"))
        sys.exit(SKIP)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
