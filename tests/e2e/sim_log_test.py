#!/usr/bin/env python3
"""A server's own log is put through another queue: dove sim replay log."""
import json
import subprocess
import unittest

from cluster import DOVE, Cluster


class SimReplayLog(unittest.TestCase):
    def test_the_jobs_of_a_log_run_under_another_order(self):
        with Cluster(nodes=1, gpus=2, cores=4) as cluster:
            submit = ("submit", "-o", "name", "--chdir", cluster.folder)  # their output belongs there too
            jobs = [int(cluster.run(*submit, "--gpus-per-task", "2", "--wrap", "sleep 1").stdout)
                    for _ in range(3)]
            jobs.append(int(cluster.run(*submit, "--wrap", "true").stdout))
            for job in jobs:
                cluster.wait_state(job, "completed")
            done = subprocess.run([DOVE, "sim", "replay", "log", cluster.data, "--nodes", "1", "--gpus-per-node", "2",
                                   "--policy", "fifo", "-o", "json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual((said["jobs"], said["left_out"]), (3, 1))
        self.assertEqual(said["jobs_waited"], 2)
        # One after the other; a start is reported a moment after it happened, so a little less than 3 x 1 s.
        self.assertGreater(said["makespan_s"], 2.5)


if __name__ == "__main__":
    unittest.main()
