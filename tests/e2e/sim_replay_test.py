#!/usr/bin/env python3
"""Traces of each format are put through the live scheduler, as a new cluster has it and plain: dove sim replay."""
import json
import os
import subprocess
import tempfile
import unittest

from cluster import DOVE

# Two nodes with two GPUs. The tasks of node b's model come first, so that its GPUs are taken.
OPENB_NODES = """sn,cpu_milli,memory_mib,gpu,model
a,8000,16384,2,T4
b,8000,16384,2,V100
"""
OPENB_TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
t0,1000,1024,2,1000,V100
t1,1000,1024,1,1000,V100
t2,1000,1024,1,500,
t3,1000,1024,1,1000,T4
"""
OPENB_ARRIVALS = "0 1\n0 1 2 3\n"

# 4 GPUs, then 4 more that wait for them.
MURI_TRACE = """job_id,num_gpu,submit_time,iterations,model_name,iteration_time
1,4,0,1000,vgg,100
2,4,1000,100,vgg,100
"""
MURI_OVERHEADS = "num_gpu,vgg\n4,0\n"

PHILLY = """timestamp,duration,num_gpus,cluster
2017-10-09 07:00:00,100,4,one
2017-10-09 07:00:10,100,2,two
2017-10-09 07:00:20,50,2,two
"""

# submit, wait, run, allocated, cpu, memory, requested, requested time, ..., user
SWF = """; four processors, of one user, then of another
1 0 -1 100 4 -1 -1 4 200 -1 1 7 -1 -1 -1 -1 -1 -1
2 10 -1 100 2 -1 -1 2 200 -1 1 8 -1 -1 -1 -1 -1 -1
3 20 -1 50 2 -1 -1 2 200 -1 1 8 -1 -1 -1 -1 -1 -1
"""


class SimReplay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-e2e.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def replay(self, *arguments):
        """What each of the two says, by its name."""
        said = {}
        for policy in ("default", "plain"):
            done = subprocess.run([DOVE, "sim", "replay", *arguments, "--policy", policy, "-o", "json"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            said[policy] = json.loads(done.stdout)
        return said

    def test_openb(self):
        said = self.replay("openb", "--nodes", self.file("nodes.csv", OPENB_NODES),
                           "--tasks", self.file("tasks.csv", OPENB_TASKS),
                           "--arrivals", self.file("arrivals.txt", OPENB_ARRIVALS))
        for each in said.values():
            # The first takes both V100, so there is none for the second; the others have T4.
            self.assertEqual((each["arrivals"], each["placed"], each["dropped"]), (4, 3, 1), each)

    def test_muri(self):
        said = self.replay("muri", "--nodes", "1", "--gpus-per-node", "4",
                           "--trace", self.file("jobs.csv", MURI_TRACE),
                           "--overheads", self.file("overheads.csv", MURI_OVERHEADS))
        for each in said.values():
            self.assertEqual(each["jobs"], 2)
            self.assertAlmostEqual(each["makespan_s"], 1.015 * 110, places=1)
        # The job that comes first ends first: 101.5 s, and the other 10.15 s later, which came a second late.
        self.assertAlmostEqual(said["plain"]["avg_jct_s"], (101.5 + 110.65) / 2, places=1)
        self.assertEqual(said["plain"]["starts"], 2)

    def assert_queue(self, said):
        for each in said.values():
            self.assertEqual((each["jobs"], each["gpus"], each["left_out"]), (3, 4, 0))
            # The two that come second and third run beside each other once the first has ended.
            self.assertEqual(each["jobs_waited"], 2)
            self.assertAlmostEqual(each["avg_wait_s"], (90 + 80) / 3, places=2)
            self.assertAlmostEqual(each["makespan_s"], 200)

    def test_philly(self):
        said = self.replay("philly", self.file("trace.csv", PHILLY), "--nodes", "1", "--gpus-per-node", "4")
        self.assert_queue(said)
        self.assertEqual([one["name"] for one in said["default"]["accounts"]], ["one", "two"])

    def test_swf(self):
        said = self.replay("swf", self.file("trace.swf", SWF), "--nodes", "1", "--gpus-per-node", "4")
        self.assert_queue(said)
        self.assertEqual([one["name"] for one in said["plain"]["accounts"]], ["7", "8"])


if __name__ == "__main__":
    unittest.main()
