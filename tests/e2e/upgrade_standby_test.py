#!/usr/bin/env python3
"""An upgrade of two controllers that share a log, under submissions: the former version leads and this one joins as a
standby, gets the lead, gives it back and gets it again. Until an administrator finishes it, the log and its hash are of
the former level, although there is news that only the newer one can hold; afterwards the former version refuses the log.
The former version is dove-former, as in upgrade_test.py."""
# limit_s: 300
import os
import subprocess
import sys
import unittest

import postgres
from cluster import DOVE, FORMER, SKIP, Api, until
from contract import Recorder
from controllers import AnyApi, Controllers
from executors_test import FakeAdapter
from standby_test import LATE, Submissions

# DOVE_FORMER_LEVELS=0: DOVE_FORMER is older than levels, and so its answers name none.
KNOWS_LEVELS = os.environ.get("DOVE_FORMER_LEVELS") != "0"
EXECUTOR = "kind: Executor\nname: slurm\nservice_account: slurm-1\nnodes: [node1]\n"


class Adapter(FakeAdapter):
    """Asks whichever controller leads."""

    def __init__(self, cluster, token):
        self.any = AnyApi([one.url for one in cluster.controllers], token)
        super().__init__(cluster, token)

    def sync(self, said):
        return self.any.call("POST", "/v1/executors/slurm/sync", said)


class UpgradeStandbyTest(unittest.TestCase):
    def dove(self, *words, code=0, **more):
        environment = {**os.environ, "DOVE_URL": self.cluster.url, "DOVE_TOKEN": self.cluster.token}
        done = subprocess.run([DOVE, *words], env=environment, capture_output=True, text=True, timeout=60, check=False, **more)
        self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def levels(self):
        """The cluster's, and by port what each controller reads, as the leader knows them: nothing where it is older than
        levels."""
        listed = self.cluster.api.call("GET", "/v1/controllers")
        return listed.get("level"), {int(one["url"].rsplit(":", 1)[1]): one.get("level") for one in listed["controllers"]}

    def wait_levels(self, *expected):
        older = not KNOWS_LEVELS and any(one.leads() and one.program == FORMER for one in self.cluster.controllers)
        levels = (None, None) if older else expected
        known = dict(zip([one.port for one in self.cluster.controllers], levels))
        until(lambda: self.levels()[1] == known, 20, f"the leader to know that they read {levels}")

    def restart(self, controller, program):
        """As a standby."""
        controller.kill()
        controller.program = program
        controller.start()
        until(lambda: "standby of" in controller.ask("/readyz")[1], 30, "it to stand by")

    def hand_over(self, old, new):
        self.dove("controller", "hand-over")
        until(new.leads, 30, "the other one to lead")
        until(lambda: "standby of" in old.ask("/readyz")[1], 30, "the former leader to stand by")

    def more(self, submissions):
        sent = len(submissions.ids)
        until(lambda: len(submissions.ids) > sent + 10 or submissions.failed, 30, "more submissions")

    def in_turns(self, submissions, long):
        """The newer version leads twice, and the former one in between."""
        first, second = self.cluster.controllers
        for old, new in [(first, second), (second, first), (first, second)]:
            self.wait_levels(1, 2)
            self.hand_over(old, new)
            self.more(submissions)
            self.assertEqual(self.levels()[0], None if new.program == FORMER and not KNOWS_LEVELS else 1)
            self.assertEqual(self.cluster.api.call("GET", "/v1/nodes/node1").get("features", []), [], "no record of theirs holds it")
            self.assertEqual(self.cluster.job(long)["state"], "running")
            if new is second:  # and the former version reads all that it has written, from the beginning
                self.restart(first, FORMER)
        self.assertIn("reads up to level 1", self.dove("upgrade", "finish", code=1))

    def check_jobs(self, submissions, long):
        self.assertEqual(submissions.failed, [])
        self.assertEqual(len(set(submissions.ids)), len(submissions.ids))
        for number, job in enumerate(submissions.ids):
            self.assertEqual(self.cluster.wait(job, 120)["state"], "completed")
            with open(f"{submissions.out}/{number}") as file:
                self.assertEqual(len(file.read().split()), 1, f"job {job} ran once")
        found = self.cluster.job(long)
        self.assertEqual((found["state"], len(found["attempts"])), ("running", 1))
        self.assertEqual(self.cluster.postgres.sql(LATE), [["0"]])

    def log(self):
        with open(self.cluster.log.name) as file:
            return file.read()

    def test_n_leads_again_until_it_is_finished(self):
        self.cluster = Controllers(count=2, nodes=2, gpus=2, programs=[FORMER, DOVE])
        with self.cluster as cluster:
            first, second = cluster.controllers
            self.wait_levels(1, 2)
            self.assertEqual(self.levels()[0], 1 if KNOWS_LEVELS else None, "a cluster begins at the level of its first controller")
            token = cluster.api.call("POST", "/v1/users/slurm-1/token?create=1")["token"]
            self.dove("apply", "-f", "-", input=EXECUTOR)
            adapter = Adapter(cluster, token)
            newer = [{"name": "node1", "state": "up", "features": ["ib"]}]
            adapter.nodes = newer if KNOWS_LEVELS else [{"name": "node1", "state": "up"}]
            try:
                until(lambda: cluster.api.call("GET", "/v1/nodes/node1")["state"] == "ready", 20, "the node to take jobs")
                long = cluster.submit({"name": "long", "command": ["sleep", "1000"]})
                cluster.wait_state(long, "running")
                with Submissions(cluster) as submissions:
                    self.in_turns(submissions, long)
                    self.restart(first, DOVE)
                    self.wait_levels(2, 2)
                    self.assertNotIn("newer version of dove", self.log())
                    self.assertIn("level 2", self.dove("upgrade", "finish"))
                    self.more(submissions)
                adapter.nodes = newer
                until(lambda: cluster.api.call("GET", "/v1/nodes/node1")["features"] == ["ib"], 20, "what is new")
                self.assertEqual(self.levels()[0], 2)
                first.kill()
                first.program = FORMER
                first.start()
                self.assertNotEqual(first.process.wait(60), 0)
                self.assertIn("newer version of dove", self.log())
                self.check_jobs(submissions, long)
                self.assertTrue(second.leads())
                self.assertNotIn("state_hash_differs", self.log())
            finally:
                adapter.end()
                if not KNOWS_LEVELS:
                    Api.recorder = Recorder()  # its answers are not of this version's contract

    def test_a_former_leader_that_ended_keeps_it_from_being_finished(self):
        self.cluster = Controllers(count=2, nodes=0, programs=[FORMER, DOVE])
        with self.cluster as cluster:
            first, second = cluster.controllers
            self.wait_levels(1, 2)
            first.kill()
            cluster.wait_leader(but=0)
            until(lambda: first.port in self.levels()[1], 20, "the former leader to be known")
            self.assertIn("reads up to level 1", self.dove("upgrade", "finish", code=1))
            first.start()
            until(lambda: "standby of" in first.ask("/readyz")[1], 30, "it to stand by")
            self.assertNotIn("newer version of dove", self.log())
            first.kill()
            first.program = DOVE
            first.start()
            self.wait_levels(2, 2)
            self.assertIn("level 2", self.dove("upgrade", "finish"))
            self.assertTrue(second.leads())


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
