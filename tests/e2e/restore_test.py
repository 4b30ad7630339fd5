#!/usr/bin/env python3
"""dove restore --at: the log goes back to a moment at which less had happened than agents hold. Nothing runs twice, nothing
is killed, nobody deletes a file by hand: what a job did meanwhile is told by the agents, what the log does not know goes on
and is shown, and an administrator stops it. And what an older copy of the data is told to do."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster import DOVE, Cluster, until
from jobs_that_wait import JobsThatWait

GRACE = ("--disconnect-grace-s", "2", "--fence-s", "1")


class Restore(JobsThatWait, unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=2, cores=4, server_options=GRACE).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.folder = self.cluster.folder

    def stop_server(self):
        self.cluster.server.send_signal(signal.SIGTERM)
        self.cluster.server.wait(20)

    def head(self):
        return self.cluster.api.call("GET", "/v1/jobs?limit=1")["log_head"]

    def node(self, name):
        return self.cluster.api.call("GET", "/v1/nodes/" + name)

    def findings(self):
        return {finding["check"]: (node["name"], finding["severity"])
                for node in map(self.node, self.cluster.names) for finding in node["findings"]}

    def restored(self, *options):
        """The server goes on with what was restored from a backup of now."""
        backup = self.folder + "/backup"
        self.cluster.run("backup", backup, "--plain")
        self.stop_server()
        data = self.folder + "/restored"
        said = self.cluster.run("restore", backup, "--data", data, *options)
        self.cluster.data = data
        self.cluster.start_server()
        self.cluster.wait_connected()
        return said

    def test_what_happened_since_goes_on_and_nothing_twice(self):
        alice = self.cluster.run("token", "create", "--create", "alice").stdout.strip().splitlines()[-1]
        jobs = {"runs_on": self.submit("runs_on"), "ends_later": self.submit("ends_later")}
        for name in ("starts_later", "runs_later"):
            jobs[name] = self.submit(name, hold=True)
        self.began("runs_on")
        self.began("ends_later")
        cut = self.head()
        for name in ("starts_later", "runs_later"):
            self.cluster.api.call("POST", f"/v1/jobs/{jobs[name]}/release")
            self.began(name)
        for name in ("ends_later", "runs_later"):
            self.go(name)
            self.assertEqual(self.cluster.wait(jobs[name])["state"], "completed")
        jobs["unknown"] = self.submit("unknown")
        self.began("unknown")
        said = self.restored("--at", str(cut))
        self.assertIn("records after them are left out", said.stderr)

        for name in ("ends_later", "runs_later"):
            self.assertEqual(self.cluster.wait(jobs[name], 20)["state"], "completed")
        for name in ("runs_on", "starts_later"):
            self.assertEqual(self.cluster.job(jobs[name])["state"], "running", name)
        self.assertEqual(self.findings()["unknown_work"][1], "fault")
        self.assertEqual(self.findings()["adopted_work"][1], "fault")
        # Numbers are not given again, tokens are good, and what is new starts where nothing is held.
        held = {node for node, _ in self.findings().values()}
        new = self.submit("new")
        self.assertGreater(new, 1_000_000)
        if len(held) < 2:
            self.began("new")
        self.assertEqual(self.cluster.run("whoami", DOVE_TOKEN=alice, DOVE_URL=self.cluster.url, check=False).returncode, 0)

        name = self.findings()["unknown_work"][0]
        shown = self.cluster.run("nodes", name).stdout
        self.assertIn(f"{jobs['unknown']}.1", shown)
        self.assertIn("release-unknown", shown)
        pids = self.pids("unknown")
        self.assertTrue(pids)
        self.cluster.run("node", "release-unknown", name)
        until(lambda: not self.pids("unknown"), 20, "the unknown work to be stopped")
        until(lambda: "unknown_work" not in self.findings(), 20, "the finding to be closed")
        for name in ("runs_on", "starts_later"):
            self.go(name)
            ended = self.cluster.wait(jobs[name])
            self.assertEqual(ended["state"], "completed", ended)
        until(lambda: not self.findings(), 20, "the nodes to be good")
        self.began("new")
        self.go("new")
        self.assertEqual(self.cluster.wait(new)["state"], "completed")
        for name in (*jobs, "new"):
            self.assertEqual(self.starts(name), 1, name)

    def pids(self, name):
        return [pid for pid in self.cluster.processes() if self.says(pid, name + ".starts")]

    def says(self, pid, text):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                return text in file.read()
        except OSError:
            return False

    def test_an_older_copy_is_refused_and_goes_on_in_place(self):
        self.stop_server()
        older = self.folder + "/older"
        shutil.copytree(self.cluster.data, older)
        self.cluster.start_server()
        self.cluster.wait_connected()
        job = self.submit("later")
        self.began("later")
        self.stop_server()
        self.cluster.data = older
        with self.subTest("it is refused"):
            refused = subprocess.Popen([DOVE, "server", "--data", older, "--port", str(self.cluster.port),
                                        *self.cluster.server_options], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.cluster.environment)
            self.assertIn(b"dove restore --in-place", refused.communicate(timeout=60)[1])
            self.assertEqual(refused.returncode, 1)
        self.assertIn("goes on from record", self.cluster.run("restore", "--in-place", "--data", older).stdout)
        self.cluster.start_server()
        self.cluster.wait_connected()
        until(lambda: "unknown_work" in self.findings(), 20, "its work to be found")
        self.assertEqual(self.starts("later"), 1)
        self.assertTrue(self.pids("later"), f"job {job} goes on")
        self.go("later")
        until(lambda: not self.findings(), 20, "the finding to be closed once it has ended")

    def test_a_server_that_was_moved_goes_on_with_its_numbers(self):
        before = self.cluster.submit({"command": ["true"]})
        self.cluster.wait(before)
        self.stop_server()
        backup, data = self.folder + "/backup", self.folder + "/moved"
        self.cluster.run("backup", backup, "--plain")
        self.cluster.run("restore", backup, "--data", data, "--moved")
        self.cluster.data = data
        self.cluster.start_server()
        self.cluster.wait_connected()
        self.assertEqual(self.cluster.submit({"command": ["true"]}), before + 1)

    def test_what_cannot_be_restored(self):
        backup = self.folder + "/backup"
        self.cluster.run("backup", backup, "--plain")

        def refused(*options):
            done = self.cluster.run("restore", backup, "--data", self.folder + "/no", *options, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertFalse(os.path.exists(self.folder + "/no"))
            return done.stderr

        self.assertIn("from record 1 of", refused("--at", "1999-12-31T23:59:59Z"))
        self.assertIn("name a record, or a time", refused("--at", "yesterday"))
        self.assertIn("--moved", refused("--at", "5", "--moved"))
        self.assertIn("it takes no backup", refused("--in-place"))
        self.assertIn("it takes nothing else", refused("--in-place", "--store", "postgres://dove@/dove"))
        self.assertIn("no URL of PostgreSQL", refused("--store", "dove"))
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        done = self.cluster.run("restore", backup, "--data", self.folder + "/whole", "--at", later)
        with open(backup + "/manifest.json") as file:
            self.assertIn(f"records to {json.load(file)['head']}, verified", done.stdout)


if __name__ == "__main__":
    unittest.main()
