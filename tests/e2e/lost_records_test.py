#!/usr/bin/env python3
"""The database that controllers share loses the end of the log while tasks run. A standby that has read more ends; so does
whoever leads from the shorter log once an agent comes, also when it has become longer than what the agent has seen. What they
say names the command that makes the log go on, and then no task is ended: what the log knows goes on, the rest is shown."""
# limit_s: 300
import contextlib
import os
import signal
import subprocess
import sys
import unittest

import postgres
from cluster import DOVE, SKIP
from controllers import Controllers, until


class LostRecordsTest(unittest.TestCase):
    def submit(self, name):
        """A job that says its pid, and goes on until the file NAME.go is there."""
        script = f"echo $$ >> {self.folder}/{name}.pids; while [ ! -e {self.folder}/{name}.go ]; do sleep 0.05; done"
        job = self.cluster.submit({"name": name, "command": ["sh", "-c", script]})
        self.cluster.wait_state(job, "running")
        until(lambda: self.pids(name), 20, "the task's file")
        return job

    def pids(self, name):
        try:
            with open(f"{self.folder}/{name}.pids") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def go(self, name):
        with open(f"{self.folder}/{name}.go", "w"):
            pass

    def number(self, sql):
        return int(self.cluster.postgres.sql(sql)[0][0])

    def records(self):
        return self.number("SELECT max(seq) FROM dove.records")

    def write(self, records):
        for _ in range(records):
            self.cluster.api.call("POST", "/v1/join-tokens", {"node": "spare"})

    def restore(self):
        return subprocess.run([DOVE, "restore", "--in-place", "--store", self.cluster.postgres.url()], capture_output=True,
                              text=True, timeout=60, check=False)

    @contextlib.contextmanager
    def ends_and_says(self, controller, text):
        with open(self.cluster.log.name) as log:
            log.seek(0, os.SEEK_END)
            yield
            self.assertEqual(controller.process.wait(60), 1, "it ends by itself")
            said = log.read()
        self.assertRegex(said, text)
        self.assertIn("dove restore --in-place --store URL", said)

    def unknown_work(self):
        nodes = [self.cluster.api.call("GET", "/v1/nodes/" + name) for name in self.cluster.names]
        return [finding for node in nodes for finding in node["findings"] if finding["check"] == "unknown_work"]

    def test_the_end_of_the_log_is_lost(self):
        with Controllers(count=2, nodes=2) as self.cluster:
            self.folder = self.cluster.folder
            first, second = self.cluster.controllers
            known = self.submit("known")
            kept = self.number("SELECT max(batch) FROM dove.batches")
            self.write(30)
            self.submit("unknown")
            lost = self.records()
            until(lambda: self.number("SELECT coalesce(max(folded), 0) FROM dove.controllers") >= lost, 20, "the standby")

            with self.ends_and_says(second, "is not the one that was read or written before"):
                second.signal(signal.SIGSTOP)
                first.kill()
                self.cluster.postgres.sql(f"DELETE FROM dove.records WHERE batch > {kept}")
                self.cluster.postgres.sql(f"DELETE FROM dove.batches WHERE batch > {kept}")
                second.signal(signal.SIGCONT)
            self.assertLess(self.records(), lost)
            with self.ends_and_says(first, "this log ends at record|has seen another record"):
                first.start()

            # It grows while no agent is there that could say so.
            for agent in self.cluster.agents.values():
                agent.kill()
                agent.wait(10)
            with self.ends_and_says(first, "has seen another record"):
                first.start()
                until(first.leads, 30, "the first to lead")
                self.write(lost - self.records() + 1)
                self.assertGreater(self.records(), lost)
                refused = self.restore()
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("stop all controllers", refused.stderr)
                for name in self.cluster.names:
                    self.cluster.start_agent(name)

            until(lambda: self.restore().returncode == 0, 30, "the lease to be over")
            for one in (first, second):
                one.start()
            self.cluster.wait_leader()
            self.cluster.wait_connected(60)
            until(self.unknown_work, 30, "the work to be found that the log does not know")
            self.assertIn("ClusterRestored", str(self.cluster.api.call("GET", "/v1/events?order=newest&limit=100")))
            self.assertEqual(self.cluster.job(known)["state"], "running")
            for name in ("known", "unknown"):
                self.assertEqual(len(self.pids(name)), 1, "it began once")
                os.kill(int(self.pids(name)[0]), 0)
                self.go(name)
            self.assertEqual(self.cluster.wait(known)["state"], "completed")
            until(lambda: not self.unknown_work(), 30, "the finding to be closed")
            new = self.cluster.submit({"command": ["true"]})
            self.assertGreater(new, 1_000_000)
            self.assertEqual(self.cluster.wait(new)["state"], "completed")

    def test_nothing_is_begun_where_no_log_is(self):
        with Controllers(count=1, nodes=0) as self.cluster:
            self.cluster.postgres.sql("CREATE DATABASE empty", database="postgres")
            url = self.cluster.postgres.url().rsplit("/", 1)[0] + "/empty"
            done = subprocess.run([DOVE, "restore", "--in-place", "--store", url], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no log in this database", done.stderr)


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
