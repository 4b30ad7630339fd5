#!/usr/bin/env python3
"""A server's own log is scheduled again: dove sim replay log."""
import json
import subprocess
import unittest

from cluster import DOVE, Cluster


class SimReplayLog(unittest.TestCase):
    def replay(self, *options):
        done = subprocess.run([DOVE, "sim", "replay", "log", self.data, *options, "-o", "json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_jobs_of_a_log_run_under_other_orders(self):
        with Cluster(nodes=1, gpus=2, cores=4) as cluster:
            self.data = cluster.data
            cluster.api.call("PUT", "/v1/objects/queue/narrow", {"limits": {"jobs_running": 1}})
            submit = ("submit", "-o", "name", "--chdir", cluster.folder)  # their output belongs there too
            jobs = [int(cluster.run(*submit, "--gpus-per-task", "2", "--wrap", "sleep 1").stdout)
                    for _ in range(3)]
            jobs += [int(cluster.run(*submit, "--queue", "narrow", "--wrap", "sleep 1").stdout) for _ in range(2)]
            for job in jobs:
                cluster.wait_state(job, "completed")
            # As they were submitted, on the log's node. Its GPUs, and the queue's one place, are taken in turn.
            for policy in ("default", "plain"):
                said = self.replay("--policy", policy)
                self.assertEqual((said["jobs"], said["left_out"], said["gpus"], said["stopped"]), (5, 0, 2, 0), said)
                self.assertEqual(said["jobs_waited"], 3, said)
                self.assertGreater(said["makespan_s"], 2.5)
            # On other nodes only GPUs count: those without are left out, and two of three run at once.
            for policy in ("default", "plain"):
                said = self.replay("--policy", policy, "--nodes", "2", "--gpus-per-node", "2")
                self.assertEqual((said["jobs"], said["left_out"], said["gpus"]), (3, 2, 4), said)
                self.assertEqual(said["jobs_waited"], 1, said)
            for nodes in ((), ("--nodes", "1", "--gpus-per-node", "2")):
                said = self.replay("--policy", "fifo", *nodes)
                self.assertEqual((said["jobs"], said["left_out"], said["gpus"]), (3, 2, 2), said)
                self.assertEqual(said["jobs_waited"], 2)
                # One after the other; a start is reported a moment after it happened, so a little less than 3 x 1 s.
                self.assertGreater(said["makespan_s"], 2.5)


if __name__ == "__main__":
    unittest.main()
