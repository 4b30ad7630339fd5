#!/usr/bin/env python3
"""A planned change of the controller that leads: there and back again under submissions, in the same processes; nothing
is lost, nothing happens twice, no task is ended. What cannot be done is refused, and changes nothing."""
# limit_s: 300
import json
import os
import subprocess
import sys
import unittest

import postgres
from cluster import DOVE, SKIP, Api, Cluster
from controllers import LATE, ApiError, Controllers, until
from standby_test import Submissions


class HandOverTest(unittest.TestCase):
    def hand_over(self, cluster, *name):
        environment = {**os.environ, "DOVE_URL": cluster.url, "DOVE_TOKEN": cluster.token,
                       "DOVE_CA_FILE": cluster.ca_file() or ""}
        return subprocess.run([DOVE, "controller", "hand-over", *name], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def names(self, cluster):
        """By port: the names of controllers as the one that leads has them."""
        listed = cluster.api.call("GET", "/v1/controllers")["controllers"]
        self.assertEqual([one["leads"] for one in listed], [True] + [False] * (len(listed) - 1))
        return {int(one["url"].rsplit(":", 1)[1]): one["name"] for one in listed}

    def wait_names(self, cluster, count):
        until(lambda: len(self.names(cluster)) == count, 20, "the leader to know who stands by")
        return self.names(cluster)

    @staticmethod
    def agents_port(controller):
        """0 while it does not listen there."""
        return json.loads(controller.ask("/healthz")[1] or "{}").get("agents_port", 0)

    def change(self, tls):
        with Controllers(count=3, nodes=2, tls=tls) as cluster:
            long = [cluster.submit({"name": "long", "command": ["sh", "-c",
                                    f"echo $$ >> {cluster.folder}/long{i}; sleep 1000"]}) for i in range(2)]
            for job in long:
                cluster.wait_state(job, "running")
            until(lambda: all(os.path.exists(f"{cluster.folder}/long{i}") for i in range(2)), 20, "the tasks' files")
            pids = [one.process.pid for one in cluster.controllers]
            first, second, third = cluster.controllers
            with Submissions(cluster) as submissions:
                for old, new in [(first, third), (third, second), (second, first)]:
                    names = self.wait_names(cluster, 3)
                    sent = len(submissions.ids)
                    port = tls and until(lambda new=new: self.agents_port(new), 30, "the named one to listen for agents")
                    done = self.hand_over(cluster, names[new.port])
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(names[new.port], done.stdout)
                    until(new.leads, 30, "the named one to lead")
                    self.assertEqual(self.agents_port(new), port, "agents' connections go on")
                    until(lambda old=old: "standby of" in old.ask("/readyz")[1], 30, "the former one to stand by")
                    until(lambda sent=sent: len(submissions.ids) > sent + 10, 30, "more submissions")
            self.assertEqual(submissions.failed, [])
            self.assertEqual(len(set(submissions.ids)), len(submissions.ids))
            for number, job in enumerate(submissions.ids):
                self.assertEqual(cluster.wait(job, 120)["state"], "completed")
                with open(f"{submissions.out}/{number}") as file:
                    self.assertEqual(len(file.read().split()), 1, f"job {job} ran once")
            cluster.wait_connected()
            for i, job in enumerate(long):
                self.assertEqual((cluster.job(job)["state"], len(cluster.job(job)["attempts"])), ("running", 1))
                with open(f"{cluster.folder}/long{i}") as file:
                    self.assertEqual(len(file.read().split()), 1, "its task went on")
            self.assertEqual([one.process.pid for one in cluster.controllers], pids)
            self.assertEqual([one.process.poll() for one in cluster.controllers], [None] * 3)
            self.assertEqual(cluster.postgres.sql(LATE), [["0"]])

    def test_there_and_back(self):
        self.change(tls=False)

    def test_there_and_back_with_tls(self):
        self.change(tls=True)

    def test_what_cannot_be_done_changes_nothing(self):
        with Controllers(count=2, nodes=1) as cluster:
            first, second = cluster.controllers
            names = self.wait_names(cluster, 2)
            with self.assertRaises(ApiError) as unknown:
                cluster.api.call("POST", "/v1/controllers/hand-over", {"to": "nowhere:1"})
            self.assertEqual(unknown.exception.body["code"], "no_such_controller")
            with self.assertRaises(ApiError) as own:
                cluster.api.call("POST", "/v1/controllers/hand-over", {"to": names[first.port]})
            self.assertEqual(own.exception.body["code"], "no_such_controller")
            user = cluster.api.call("POST", "/v1/users/ann/token?create=1", {})["token"]
            status, _, body = Api(first.url, user).raw("POST", "/v1/controllers/hand-over", {})
            self.assertEqual((status, json.loads(body)["code"]), (403, "admin_only"))
            second.kill()
            # It is remembered for a while, but nothing is given to whoever has been silent.
            def refused():
                status, _, body = cluster.api.raw("POST", "/v1/controllers/hand-over", {})
                return status == 409 and json.loads(body)["code"] == "no_standby"
            until(lambda: self.seen_ago(cluster) > 5_500, 30, "the silence to be noticed")
            self.assertTrue(refused())
            self.assertTrue(first.leads())

    def seen_ago(self, cluster):
        return cluster.api.call("GET", "/v1/controllers")["controllers"][1]["seen_ms_ago"]

    def test_one_controller_has_nobody_to_hand_over_to(self):
        with Cluster(nodes=0) as cluster:
            status, _, body = cluster.api.raw("POST", "/v1/controllers/hand-over", {})
            self.assertEqual((status, json.loads(body)["code"]), (409, "one_controller"))


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
