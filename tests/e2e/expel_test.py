#!/usr/bin/env python3
"""A node whose agent is not to be trusted any more is cut off within a second and stays out; what ran there runs elsewhere, and
not before its tasks must have ended."""
import json
import os
import shutil
import ssl
import time
import unittest

from cluster import Api, Cluster, until

FENCE_S, GRACE_S = 1, 2
# A line all the time, with the number of the attempt: two attempts that ran at once would show.
TASK = 'while :; do echo "$DOVE_RESTART_COUNT $(date +%s%N)" >> "$0"; sleep 0.05; done'


class Expel(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=2, tls=True, server_options=["--fence-s", str(FENCE_S), "--disconnect-grace-s", str(GRACE_S),
                                                                  "--silent-after-s", "5", "--heartbeat-ms", "200"]).__enter__()
        self.addCleanup(self.end)
        self.failed = True

    def end(self):
        error = AssertionError if self.failed else None
        self.cluster.__exit__(error, None, None)

    def log_has(self, *words):
        with open(os.path.join(self.cluster.folder, "processes.log")) as file:
            return any(all(word in line for word in words) for line in file)

    def refusal(self, api, node, tail, body):
        status, _, text = api.raw("POST", f"/v1/agents/{node}/{tail}", body)
        return status, json.loads(text)["code"]

    def agents_port(self, folder, token):
        """As the agent itself calls there: with its certificate and its token."""
        with open(os.path.join(self.cluster.folder, "processes.log")) as file:
            lines = [json.loads(line) for line in file if '"event":"listening"' in line]
        port = next(line["port"] for line in lines if line["tls"] and line["port"] != self.cluster.port)
        api = Api(f"https://127.0.0.1:{port}", token, ca_file=self.cluster.ca_file())
        api.tls = ssl.create_default_context(cafile=self.cluster.ca_file())
        api.tls.load_cert_chain(folder + "/agent_certificate.pem", folder + "/agent_key.pem")
        return api

    def test_it_is_cut_off_and_its_job_runs_elsewhere_after_the_fence(self):
        cluster = self.cluster
        ran = os.path.join(cluster.folder, "ran")
        job = cluster.submit({"name": "long", "command": ["sh", "-c", TASK, ran]})
        cluster.wait_state(job, "running")
        until(lambda: os.path.exists(ran), 20, "its task to run")
        node = cluster.job(job)["nodes"][0]
        folder = os.path.join(cluster.folder, "nodes", node)
        with open(folder + "/agent_token") as file:
            token = file.read().strip()
        inside = self.agents_port(folder, token)
        self.assertNotEqual(self.refusal(inside, node, "report", {})[0], 403, "until now it is let in")

        begun = time.monotonic()
        shown = cluster.api.call("POST", f"/v1/nodes/{node}/action", {"action": "expel", "why": "stolen"})
        until(lambda: self.log_has('"event":"disconnected"', node), 5, "its session to end")
        self.assertLess(time.monotonic() - begun, 1)
        self.assertEqual((shown["state"], shown["contact"]), ("expelled", "silent"))
        # What is open at the agents' port has ended, and its certificate opens nothing there any more.
        for attempt in ("on the connection that was open", "on a new one"):
            with self.assertRaises(OSError, msg=attempt):
                self.refusal(inside, node, "report", {})
        self.assertEqual(self.refusal(cluster.caller(token), node, "certificate", {"request": ""}), (403, "node_expelled"))
        self.assertEqual(cluster.run("node", "expel", node, check=False).returncode, 4)

        until(lambda: len(cluster.job(job)["attempts"]) == 2 and cluster.job(job)["state"] == "running", 30, "the other node")
        first, second = cluster.job(job)["attempts"]
        self.assertGreaterEqual(second["allocated_at_us"], shown["lost_at_us"])
        self.assertEqual(first["stop_reason"], "node_lost")

        def runs():
            with open(ran) as file:
                lines = [line.split() for line in file if line.endswith("\n")]
            return {count: [int(at) for number, at in lines if number == count] for count in ("0", "1")}
        until(lambda: runs()["1"], 20, "the second attempt's task")
        at = runs()
        self.assertLess(max(at["0"]), min(at["1"]), "its task had ended before it ran elsewhere")
        self.assertNotIn(node, [each["name"] for each in cluster.nodes()])

        # Its agent tries again, also anew, and is told why.
        cluster.agents[node].kill()
        cluster.agents.pop(node).wait(10)
        cluster.start_agent(node)
        until(lambda: self.log_has('"event":"refused_by_controller"', node, "was expelled"), 20, "the refusal")
        said = cluster.run("events", "--kind", "NodeActionRequested", "-o", "json").stdout
        self.assertIn("expel", said)
        self.assertIn("stolen", said)

        # With a new token, and nothing of before, its machine may join.
        cluster.agents[node].kill()
        cluster.agents.pop(node).wait(10)
        shutil.rmtree(folder)
        cluster.start_agent(node)
        cluster.wait_connected()
        self.failed = False

    def test_an_idle_node_is_gone_at_once_and_an_impatient_administrator_says_that_it_is_off(self):
        cluster = self.cluster
        job = cluster.submit({"name": "long", "command": ["sleep", "600"]})
        cluster.wait_state(job, "running")
        node = cluster.job(job)["nodes"][0]
        idle = next(name for name in cluster.names if name != node)
        self.assertIn("removed", cluster.run("node", "expel", idle, "-r", "stolen").stdout)
        self.assertIn("expelled", cluster.run("node", "expel", node).stdout)
        self.assertIn("--is-off", cluster.run("nodes", node).stdout)
        self.assertIn("removed", cluster.run("node", "lost", node, "--is-off").stdout)
        self.assertEqual(cluster.nodes(), [])
        until(lambda: cluster.job(job)["state"] == "waiting", 10, "the job to wait for a node")
        self.failed = False


if __name__ == "__main__":
    unittest.main()
