#!/usr/bin/env python3
"""A cluster whose controllers share a PostgreSQL: `dove backup --store` from the leader's directory and from that of a
standby, under load, into SQLite and into another PostgreSQL; segments; a follower of either controller; and the message when
the database ends in the midst."""
# limit_s: 300
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import unittest
import urllib.request

import postgres
from cluster import DOVE, SKIP, Api, until
from controllers import Controllers
from ports import free_port


class Load:
    """Submits until it is told to end."""

    def __init__(self, cluster):
        self.cluster, self.ends, self.ids = cluster, threading.Event(), []
        self.thread = threading.Thread(target=self.run)

    def run(self):
        api = self.cluster.any_api()
        while not self.ends.is_set():
            self.ids.append(api.call("POST", "/v1/jobs", {"command": ["echo", str(len(self.ids))]},
                                     {"Idempotency-Key": f"load-{len(self.ids)}"})["id"])

    def __enter__(self):
        self.thread.start()
        until(lambda: len(self.ids) > 20, 30, "some jobs")
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


class BackupOfSharedLog(unittest.TestCase):
    def setUp(self):
        self.cluster = Controllers(count=2, nodes=0).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.first, self.second = self.cluster.controllers
        self.url = self.cluster.postgres.url()

    def path(self, name):
        return os.path.join(self.cluster.folder, name)

    def backup(self, name, of, *more, check=True, url=None):
        return self.cluster.run("backup", self.path(name), "--data", of.data, "--store", url or self.url, *more, check=check)

    def rows(self, data):
        with sqlite3.connect(f"file:{data}/log.sqlite?mode=ro", uri=True) as log:
            return [tuple(map(str, row)) for row in log.execute("SELECT seq, kind, hex(chain) FROM records ORDER BY seq")]

    def same_rows(self, upto):
        return [tuple(row) for row in self.cluster.postgres.sql(
            f"SELECT seq, kind, upper(encode(chain, 'hex')) FROM dove.records WHERE seq <= {upto} ORDER BY seq")]

    def test_it_is_whole_of_one_moment_and_restored_anywhere(self):
        certificate = self.path("backup.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/CN=b", "-keyout", self.path("backup-key.pem"), "-out", certificate], check=True, capture_output=True)
        with Load(self.cluster) as load:
            before = len(load.ids)
            self.cluster.postgres.sql("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA dove TO reader; "
                                      "GRANT SELECT ON ALL TABLES IN SCHEMA dove TO reader")
            for name, of, url in (("of-leader", self.first, self.url),
                                  ("of-standby", self.second, self.url.replace("dove@", "reader@"))):
                said = self.backup(name, of, "--seal-to", certificate, url=url).stdout
                self.assertIn("verified; keys and secrets sealed", said)
            self.assertGreater(len(load.ids), before, "the leader goes on meanwhile")
        for name in ("of-leader", "of-standby"):
            with open(self.path(name) + "/manifest.json") as file:
                manifest = json.load(file)
            data = self.path(name + "-restored")
            self.cluster.run("restore", self.path(name), "--data", data, "--key", self.path("backup-key.pem"), "--moved")
            kept = self.rows(data)
            self.assertEqual(kept[-1][0], str(manifest["head"]))
            self.assertEqual(kept[-1][2], manifest["chain"].upper())
            self.assertEqual(kept, self.same_rows(manifest["head"]))
            self.assertIn("verified: every decision", self.cluster.run("replay", data).stdout)
            self.assertTrue(os.path.exists(data + "/secret"))
            self.assertFalse(os.path.exists(data + "/log_is_shared"))

        self.cluster.postgres.sql("CREATE DATABASE again", database="postgres")
        again = self.url.rsplit("/", 1)[0] + "/again"
        self.cluster.run("restore", self.path("of-standby"), "--data", self.path("shared"), "--key", self.path("backup-key.pem"),
                         "--moved", "--store", again)
        self.assertIn("verified: every decision", self.cluster.run("replay", "--store", again).stdout)
        chains = [self.cluster.postgres.sql(f"SELECT encode(chain, 'hex') FROM dove.records WHERE seq = {manifest['head']}",
                                            database=name)[0] for name in ("dove", "again")]
        self.assertEqual(*chains)

    def test_a_controller_goes_on_from_it(self):
        ids = [self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]})["id"] for _ in range(3)]
        self.backup("plain", self.second, "--plain")
        self.first.kill()
        self.second.kill()
        data, port = self.path("alone"), free_port()
        self.cluster.run("restore", self.path("plain"), "--data", data)
        self.cluster.spawn("server", "--data", data, "--port", str(port), stdout=self.cluster.log)
        api = Api(f"http://127.0.0.1:{port}", self.cluster.token)

        def jobs():
            try:
                return [job["id"] for job in api.call("GET", "/v1/jobs")["jobs"]]
            except OSError:
                return None
        self.assertEqual(until(jobs, 30, "the controller"), ids)

    def test_segments_follow_it_over_a_takeover(self):
        self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]})
        words = [DOVE, "backup", self.path("kept"), "--data", self.second.data, "--store", self.url, "--plain", "--follow",
                 "--every", "1s"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertIn("verified", process.stdout.readline())
            self.assertIn("segments follow", process.stdout.readline())
            self.first.kill()
            self.cluster.wait_leader(but=0)
            later = self.cluster.api.call("POST", "/v1/jobs", {"name": "later", "command": ["true"]})["id"]
            head = int(self.cluster.postgres.sql("SELECT max(seq) FROM dove.records")[0][0])
            process.send_signal(signal.SIGTERM)
            said = process.stdout.read()
            self.assertEqual(process.wait(30), 0)
        self.assertGreaterEqual(int(said.split()[-1]), head)
        self.cluster.run("restore", self.path("kept"), "--data", self.path("restored"), "--moved")
        rows = self.rows(self.path("restored"))
        self.assertGreaterEqual(int(rows[-1][0]), head)
        self.assertEqual(rows, self.same_rows(rows[-1][0]))
        self.assertGreater(later, 1)

    def test_a_rotation_of_the_secrets_key_meanwhile_is_no_failure(self):
        api = self.cluster.api
        leader = self.cluster.wait_leader()
        self.cluster.run("secret", "set", "hub", input="a value", DOVE_URL=leader.url, DOVE_DATA=leader.data)
        with subprocess.Popen([f"{postgres.programs()}/psql", "-X", "-q", "-h", "127.0.0.1", "-p",
                               str(self.cluster.postgres.port), "-U", "dove", "-d", "dove"], stdin=subprocess.PIPE,
                              text=True) as holds:
            holds.stdin.write("BEGIN; LOCK TABLE dove.blobs IN ACCESS EXCLUSIVE MODE;\n")
            holds.stdin.flush()
            waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dove backup' AND wait_event_type = 'Lock'"
            with subprocess.Popen([DOVE, "backup", self.path("kept"), "--data", leader.data, "--store", self.url, "--plain"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
                until(lambda: self.cluster.postgres.sql(waits) == [["1"]], 30, "the backup to read the blobs")
                api.call("POST", "/v1/secret-keys")
                holds.stdin.close()
                said = process.stdout.read()
                self.assertEqual(process.wait(60), 0, said)
        with open(leader.data + "/secrets.key") as now, open(self.path("kept") + "/files/secrets.key") as kept:
            self.assertEqual(now.read(), kept.read())

    def test_what_goes_wrong_is_said_and_leaves_nothing(self):
        self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]})
        refused = self.cluster.run("backup", self.path("without"), "--data", self.first.data, "--plain", check=False)
        self.assertIn("dove backup --store URL", refused.stderr)
        os.makedirs(self.path("other"))
        self.second.data = self.path("other")
        refused = self.backup("foreign", self.second, "--plain", check=False)
        self.assertIn("does not hold the keys of the controllers", refused.stderr)
        # The database ends while the copy is read: it hangs at the blobs, which somebody has locked.
        holds = subprocess.Popen([f"{postgres.programs()}/psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(self.cluster.postgres.port),
                                  "-U", "dove", "-d", "dove"], stdin=subprocess.PIPE, text=True)
        self.addCleanup(holds.wait, 30)
        self.addCleanup(holds.stdin.close)
        holds.stdin.write("BEGIN; LOCK TABLE dove.blobs IN ACCESS EXCLUSIVE MODE;\n")
        holds.stdin.flush()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dove backup' AND wait_event_type = 'Lock'"
        with subprocess.Popen([DOVE, "backup", self.path("broken"), "--data", self.first.data, "--store", self.url, "--plain"],
                              stderr=subprocess.PIPE, text=True) as process:
            until(lambda: self.cluster.postgres.sql(waits) == [["1"]], 30, "the backup to read the blobs")
            self.assertTrue(os.path.exists(self.path("broken.partial")))
            self.cluster.postgres.stop()
            said = process.stderr.read()
            self.assertNotEqual(process.wait(60), 0)
        self.assertIn("nothing is kept of this backup", said)
        for name in ("without", "foreign", "broken"):
            self.assertFalse(os.path.exists(self.path(name)), name)
            self.assertFalse(os.path.exists(self.path(name + ".partial")), name)

    def test_a_follower_of_each_controller_has_the_same_log(self):
        api = self.cluster.api
        api.call("POST", "/v1/users/copier/token?create=1")
        api.call("PUT", "/v1/objects/user/copier", {"admin": True})
        key = api.call("POST", "/v1/keys", {"name": "f", "user": "copier", "scope": "log"})["key"]
        with open(os.open(self.path("key"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(key + "\n")
        followers = {}
        for name, of in (("leader", self.first), ("standby", self.second)):
            process = self.cluster.spawn("server", "--follow", of.url, "--follow-token", self.path("key"), "--data", self.path(name),
                                         "--port", "0", stdout=subprocess.PIPE)
            followers[name] = (process, process.stdout.readline().decode().split()[-1])
            process.stdout.close()

        def reaches(name):
            head = int(self.cluster.postgres.sql("SELECT max(seq) FROM dove.records")[0][0])

            def at_head():
                try:
                    with urllib.request.urlopen(followers[name][1] + "/readyz", timeout=5) as answer:
                        return json.load(answer)["records_to"] >= head
                except OSError:
                    return False
            until(at_head, 30, f"the follower of the {name}")

        self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]})
        for name in followers:
            reaches(name)
        for one in (self.first, self.second):  # what is not in the log need not be asked for elsewhere
            status, _, text = Api(one.url, self.cluster.token).raw("GET", "/v1/log/snapshot?seq=1")
            self.assertEqual((status, json.loads(text)["code"]), (404, "snapshot_gone"))
        self.first.kill()
        self.cluster.wait_leader(but=0)
        self.cluster.api.call("POST", "/v1/jobs", {"command": ["true"]})
        reaches("standby")  # which leads by now
        for name, (process, _) in followers.items():
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(20), 0)
            self.assertIn("verified: every decision", self.cluster.run("replay", self.path(name)).stdout)
            rows = self.rows(self.path(name))
            self.assertEqual(rows, self.same_rows(rows[-1][0]))


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
