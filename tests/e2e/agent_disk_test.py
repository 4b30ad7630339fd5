#!/usr/bin/env python3
"""A job fills the disk of its agent's directory: the node takes nothing new and says why, running work goes on, and what is
over goes early, so that the node takes work again without anybody's hand. Needs root, for a file system of 200 MiB."""
import os
import subprocess
import sys
import unittest

from cluster import SKIP, Cluster, until

FILL = "head -c 150000000 /dev/zero > big && touch {0}.full; while [ ! -e {0}.go ]; do sleep 0.05; done"


class AgentDisk(unittest.TestCase):
    def test_what_fills_it_goes_when_it_is_over(self):
        cluster = Cluster(nodes=1, cores=4)
        folder = os.path.join(cluster.folder, "nodes", "node1")
        os.makedirs(folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "none", folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        mark = cluster.folder + "/filler"
        beside = cluster.submit({"name": "beside", "command": ["sleep", "600"]})
        cluster.wait_state(beside, "running")
        filler = cluster.submit({"name": "filler", "command": ["sh", "-c", FILL.format(mark)]})
        until(lambda: os.path.exists(mark + ".full"), 20, "the disk to be full")

        def free_bytes():
            left = os.statvfs(folder)
            return left.f_bavail * left.f_frsize

        def disk():
            findings = cluster.nodes()[0]["findings"]
            return next((finding["evidence"] for finding in findings if finding["check"] == "disk"), None)

        self.assertIn("ran below 64 MiB", until(disk, 20, f"the finding, with {free_bytes()} bytes left"))
        waits = cluster.submit({"name": "waits", "command": ["true"]})
        self.assertEqual(cluster.job(waits)["state"], "waiting")
        self.assertIn("disk", cluster.run("why", str(waits)).stdout)
        with open(mark + ".go", "w"):
            pass
        self.assertEqual(cluster.wait(filler)["state"], "completed")
        self.assertEqual(cluster.wait(waits, 90)["state"], "completed")
        self.assertIsNone(disk())
        self.assertEqual(cluster.job(beside)["state"], "running")


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["mount", "--version"], capture_output=True, check=False).returncode != 0:
        print("it needs root, to mount a small file system", file=sys.stderr)
        sys.exit(SKIP)
    unittest.main()
