#!/usr/bin/env python3
"""What is over is kept for as long as the settings say: output on the nodes, records of the log."""
import os
import subprocess
import unittest

from cluster import DOVE, ApiError, Cluster, until


class Retention(unittest.TestCase):
    def test_output_beyond_the_limit_goes_and_the_youngest_stays(self):
        with Cluster(nodes=1) as cluster:
            large = cluster.submit({"command": ["sh", "-c", "head -c 3000000 /dev/zero"]})
            cluster.wait(large)
            until(lambda: len(cluster.logs(large)) == 3000000, 20, "the large output")
            small = cluster.submit({"command": ["echo", "still here"]})
            cluster.wait(small)
            until(lambda: cluster.logs(small) == "still here\n", 20, "the small output")
            cluster.agents["node1"].terminate()
            cluster.agents["node1"].wait(20)
            cluster.agent_options = ["--output-max", "1Mi"]
            cluster.start_agent("node1")
            cluster.wait_connected()

            def has_gone():
                try:
                    return len(cluster.logs(large)) == 0
                except ApiError as error:
                    return error.body["code"] not in ("node_unreachable", "job_not_started")
            until(has_gone, 30, "the large output to be removed")
            self.assertEqual(cluster.logs(small), "still here\n")

    def test_old_records_of_the_log_go(self):
        with Cluster(nodes=1, server_options=["--log-records", "1000"]) as cluster:
            array = cluster.submit({"command": ["true"], "array": "0-299"})
            cluster.run("wait", str(array), limit_s=120)
            head = cluster.api.call("GET", "/v1/cluster")["log_head"]
            self.assertGreater(head, 1200)
            for _ in range(2):  # one snapshot, and one after which the log may begin later
                cluster.server.terminate()
                cluster.server.wait(20)
                cluster.api.close()
                cluster.start_server()
            with self.assertRaises(ApiError) as refused:
                cluster.api.call("GET", "/v1/events?limit=1")
            self.assertEqual(refused.exception.body["code"], "records_forgotten")
            self.assertTrue(cluster.api.call("GET", f"/v1/events?after={head - 900}")["events"])
            self.assertEqual(cluster.job(array)["state"], "completed")

    def test_settings_that_make_no_sense_are_refused(self):
        containers = [("agent", "--image-days", "0")] if os.geteuid() == 0 else []
        for command, flag, value in [*containers, ("server", "--log-days", "0"), ("server", "--log-records", "1"),
                                     ("agent", "--output-days", "-1"), ("agent", "--output-max", "0"),
                                     ("agent", "--output-max", "plenty"), ("up", "--log-days", "soon"),
                                     ("up", "--output-max", "0"), ("server", "--log-level", "loud")]:
            with self.subTest(command, flag=flag, value=value):
                done = subprocess.run([DOVE, command, "--data", "/nonexistent", flag, value] +
                                      (["--run-as-self"] if command == "agent" else []),
                                      capture_output=True, text=True, timeout=20)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(flag, done.stderr)


if __name__ == "__main__":
    unittest.main()
