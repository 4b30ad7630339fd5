#!/usr/bin/env python3
"""dove restore BACKUP --store: the log of a backup goes on in an empty PostgreSQL, as of the moment that was named, and a
cluster moves there from SQLite. A database that holds a log stays as it is."""
# limit_s: 300
import os
import signal
import sys
import unittest

import postgres
from cluster import SKIP, Cluster, until
from jobs_that_wait import JobsThatWait

GRACE = ("--disconnect-grace-s", "2", "--fence-s", "1")


class RestoreStore(JobsThatWait, unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, cores=4, server_options=GRACE).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.folder = self.cluster.folder
        self.postgres = postgres.Postgres(self.folder, ["fsync=off"]).__enter__()
        self.addCleanup(self.postgres.__exit__)
        self.backup, self.data = self.folder + "/backup", self.folder + "/controller"

    def leads(self):
        connection = self.cluster.connection(timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def restore(self, *options, data=None, check=True):
        return self.cluster.run("restore", self.backup, "--data", data or self.data, "--store", self.postgres.url(), *options,
                                check=check)

    def goes_on(self, *options):
        """A backup of now is restored, and a controller leads from the database."""
        self.cluster.run("backup", self.backup, "--plain")
        self.cluster.server.send_signal(signal.SIGTERM)
        self.cluster.server.wait(20)
        said = self.restore(*options)
        self.assertFalse(os.path.exists(self.data + "/log.sqlite"))
        self.assertTrue(os.path.exists(self.data + "/secret"))
        self.cluster.data = self.data
        self.cluster.server = self.cluster.spawn("server", "--data", self.data, "--port", str(self.cluster.port), "--store",
                                                 self.postgres.url(), "--lease-ms", "10000", *self.cluster.server_options, stdout=self.cluster.log)
        until(self.leads, 30, "the controller to lead")
        self.cluster.wait_connected(60)
        return said

    def records(self):
        return int(self.postgres.sql("SELECT count(*) FROM dove.records")[0][0])

    def findings(self):
        return {finding["check"] for node in self.cluster.names
                for finding in self.cluster.api.call("GET", "/v1/nodes/" + node)["findings"]}

    def test_it_goes_on_as_of_an_earlier_moment(self):
        known = self.submit("known")
        self.began("known")
        cut = self.cluster.api.call("GET", "/v1/jobs?limit=1")["log_head"]
        self.submit("unknown")
        self.began("unknown")
        said = self.goes_on("--at", str(cut))
        self.assertIn("in the database, verified", said.stdout)
        self.assertIn("records after them are left out", said.stderr)
        until(lambda: "unknown_work" in self.findings(), 30, "the work to be found that the log does not know")
        self.assertIn("ClusterRestored", str(self.cluster.api.call("GET", "/v1/events?order=newest&limit=100")))
        self.assertEqual(self.cluster.job(known)["state"], "running")
        for name in ("known", "unknown"):
            self.go(name)
        self.assertEqual(self.cluster.wait(known)["state"], "completed")
        until(lambda: not self.findings(), 30, "the finding to be closed")
        new = self.cluster.submit({"command": ["true"]})
        self.assertGreater(new, 1_000_000)
        self.assertEqual(self.cluster.wait(new, 60)["state"], "completed")
        for name in ("known", "unknown"):
            self.assertEqual(self.starts(name), 1, name)

        records = self.records()
        again = self.restore(data=self.folder + "/again", check=False)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("holds a log already", again.stderr)
        self.assertIn("name another database", again.stderr)
        self.assertFalse(os.path.exists(self.folder + "/again"))
        self.assertGreaterEqual(self.records(), records)

    def test_a_cluster_moves_to_postgresql(self):
        kept = self.submit("kept")
        self.began("kept")
        self.goes_on("--moved")
        self.assertEqual(self.cluster.job(kept)["state"], "running")
        self.go("kept")
        self.assertEqual(self.cluster.wait(kept)["state"], "completed")
        self.assertEqual(self.cluster.submit({"command": ["true"]}), kept + 1)
        refused = self.cluster.run("replay", self.data, check=False)
        self.assertIn("lies in PostgreSQL", refused.stderr)
        self.assertIn("dove replay --store URL", refused.stderr)

    def test_a_log_in_postgresql_is_verified_by_a_role_that_can_only_read(self):
        self.postgres.sql("CREATE ROLE reader LOGIN")
        reader = self.postgres.url().replace("dove@", "reader@")
        done = self.cluster.run("replay", "--store", reader, check=False)
        self.assertIn("the database holds no log", done.stderr)
        self.assertEqual(self.postgres.sql("SELECT to_regclass('dove.meta') IS NULL"), [["t"]])

        self.goes_on()
        self.assertEqual(self.cluster.wait(self.cluster.submit({"command": ["true"]}))["state"], "completed")
        self.postgres.sql("GRANT USAGE ON SCHEMA dove TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA dove TO reader")
        done = self.cluster.run("replay", "--store", reader)
        self.assertIn("verified: every decision, blob and snapshot is as recorded", done.stdout)
        self.assertNotIn("records 0-", done.stdout)

        self.postgres.sql("UPDATE dove.records SET body = body || 'x' WHERE seq = 3")
        done = self.cluster.run("replay", "--store", reader, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("record 3", done.stderr)
        done = self.cluster.run("replay", "--store", reader, self.data, check=False)
        self.assertIn("name one log", done.stderr)

    def test_what_cannot_be_restored_leaves_nothing(self):
        self.cluster.run("backup", self.backup, "--plain")
        done = self.restore("--at", "1999-12-31T23:59:59Z", check=False)
        self.assertIn("from record 1 of", done.stderr)
        self.assertFalse(os.path.exists(self.data))
        self.assertEqual(self.records(), 0)
        self.assertIn("records to", self.restore().stdout)


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
