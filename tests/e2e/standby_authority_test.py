#!/usr/bin/env python3
"""Another certificate authority, made on the leader: a standby follows it without a restart, and takes over with it."""
# limit_s: 240
import os
import sys
import unittest

import postgres
from cluster import SKIP
from controllers import Controllers, until

VALID_S = 6


def text(controller, name):
    try:
        with open(os.path.join(controller.data, name)) as file:
            return file.read()
    except FileNotFoundError:
        return None


class StandbyAuthority(unittest.TestCase):
    def test_a_standby_follows_the_leaders_authorities(self):
        with Controllers(count=2, nodes=1, tls=True, server_options=["--node-certificate-s", str(VALID_S)]) as cluster:
            first, second = cluster.controllers
            job = cluster.submit({"name": "long", "command": ["sleep", "300"]})
            cluster.wait_state(job, "running")

            def rotate(*options):
                return cluster.run("ca", "rotate", "--data", first.data, *options, DOVE_DATA=first.data).stdout
            kept = "SELECT count(*) FROM dove.meta WHERE key = 'text:authorities'"
            until(lambda: "1" in str(cluster.postgres.sql(kept)), 20, "what the leader keeps for the others")
            cluster.postgres.sql("CREATE TABLE earlier AS SELECT * FROM dove.meta WHERE key = 'text:authorities'")
            former = text(first, "ca.pem")
            self.assertIn("ca.next.pem", rotate())
            for name in ("ca.next.pem", "ca.next.key"):
                until(lambda name=name: text(second, name) == text(first, name), 20, f"{name} at the standby")
            self.assertEqual(os.stat(os.path.join(second.data, "ca.next.key")).st_mode & 0o777, 0o600)
            self.assertNotIn("PRIVATE KEY", str(cluster.postgres.sql(
                "SELECT convert_from(bytes, 'UTF8') FROM dove.meta WHERE key = 'text:authorities'")))
            until(lambda: "all nodes have followed" in rotate(), 15 * VALID_S, "the node to follow")
            rotate("--finish")
            self.assertNotEqual(text(first, "ca.pem"), former)
            until(lambda: text(second, "ca.pem") == text(first, "ca.pem"), 20, "the new authority at the standby")
            self.assertEqual(text(second, "ca.key"), text(first, "ca.key"))
            until(lambda: text(second, "ca.next.pem") is None, 20, "the rotation's end")
            # By the new authority, which alone `ask` believes now.
            until(lambda: second.ask("/healthz")[0] == 200, 20, "the standby's certificate of the new authority")

            # A database that went back brings no former authority back.
            newest = text(second, "ca.pem")
            cluster.postgres.sql("UPDATE dove.meta SET bytes = earlier.bytes FROM earlier WHERE meta.key = earlier.key")
            first.kill()
            cluster.wait_leader(but=0)
            self.assertEqual(text(second, "ca.pem"), newest)
            same = "SELECT count(*) FROM dove.meta, earlier WHERE meta.key = earlier.key AND meta.bytes = earlier.bytes"
            until(lambda: "0" in str(cluster.postgres.sql(same)), 20, "the newest to be kept again")
            self.assertIsNone(second.process.poll(), "it was never restarted")
            cluster.api = cluster.any_api()
            cluster.wait_connected(60)
            self.assertEqual((cluster.job(job)["state"], len(cluster.job(job)["attempts"])), ("running", 1))
            # What is changed on the machine of the leader that was goes on from what the new one has.
            self.assertIn("ca.next.pem", cluster.run("ca", "rotate", "--data", second.data).stdout)
            first.start()
            until(lambda: text(first, "ca.next.pem") == text(second, "ca.next.pem"), 30, "the former leader to follow")


if __name__ == "__main__":
    if why := postgres.missing():
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
