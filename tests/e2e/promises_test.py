#!/usr/bin/env python3
"""Promised starts, reservations and deadlines as users meet them: through the API and the commands."""
import datetime
import unittest

from cluster import ApiError, Cluster, until


def instant(from_now_s):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=from_now_s)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Promises(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, gpus=2, cores=4).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def sleep(self, for_s, **more):
        return self.cluster.submit({"command": ["sleep", str(for_s)], "kill_grace_s": 1, **more})

    def test_a_short_job_runs_before_a_promised_start_and_a_long_one_does_not(self):
        holder = self.sleep(300, gpus=1, time_limit_s=900)
        self.cluster.wait_state(holder, "running")
        wide = self.sleep(0, gpus=2, time_limit_s=60)
        until(lambda: self.cluster.job(wide)["promised_start"], 10, "a promise")
        long = self.sleep(0, gpus=1, time_limit_s=3600)
        short = self.sleep(0, gpus=1, time_limit_s=5)
        self.assertEqual(self.cluster.wait(short)["state"], "completed")
        self.assertEqual(self.cluster.job(long)["state"], "waiting")
        why = self.cluster.run("why", str(long)).stdout
        self.assertIn("promised to job " + str(wide), why)
        self.assertIn("Promised to start by", self.cluster.run("why", str(wide)).stdout)
        self.cluster.run("cancel", str(holder))
        for job in (wide, long):
            self.assertEqual(self.cluster.wait(job)["state"], "completed")

    def test_a_reservation_keeps_its_nodes_for_who_it_lets_in(self):
        self.cluster.run("apply", "-f", "-", input=f"""
kind: Reservation
name: course
nodes: [node1]
starts_at: {instant(-60)}
ends_at: {instant(3600)}
""")
        outside = self.sleep(0, gpus=1, time_limit_s=5)
        inside = self.cluster.run("submit", "--reservation=course", "--time=1", "--", "true").stdout
        inside = int("".join(filter(str.isdigit, inside.splitlines()[0])))
        self.assertEqual(self.cluster.wait(inside)["state"], "completed")
        self.assertEqual(self.cluster.job(outside)["state"], "waiting")
        self.assertIn("kept for reservation course", self.cluster.run("why", str(outside)).stdout)
        with self.assertRaises(ApiError) as refused:
            self.sleep(0, reservation="curse")
        self.assertIn("known are course", str(refused.exception))
        self.cluster.run("delete", "reservation", "course")
        self.assertEqual(self.cluster.wait(outside)["state"], "completed")

    def test_spare_nodes_are_kept_for_gangs_that_a_node_fails(self):
        spares = "kind: Reservation\nname: spares\nnodes: [node1]\nspares_for: 2\n"
        self.cluster.run("apply", "-f", "-", input=spares)
        written = self.cluster.run("get", "reservation", "spares", "-o", "yaml").stdout
        self.cluster.run("apply", "-f", "-", input=written)
        waiting = self.sleep(0, gpus=1)
        why = self.cluster.run("why", str(waiting)).stdout
        self.assertIn("kept as spare nodes (spares) for gangs of 2 nodes and more", why)
        with self.assertRaises(ApiError) as refused:
            self.sleep(0, reservation="spares")
        self.assertIn("leave it out", str(refused.exception))
        with self.assertRaises(AssertionError) as wrong:
            self.cluster.run("apply", "-f", "-", input=spares + "outage: true\n")
        self.assertIn("spares_for", str(wrong.exception))
        self.cluster.run("delete", "reservation", "spares")
        self.assertEqual(self.cluster.wait(waiting)["state"], "completed")

    def test_a_deadline_that_cannot_be_met_ends_the_job_and_one_too_near_is_refused(self):
        with self.assertRaises(ApiError) as refused:
            self.sleep(0, time_limit_s=600, deadline=instant(300))
        self.assertIn("later deadline or a shorter time_limit", str(refused.exception))
        holder = self.sleep(300, gpus=2)
        self.cluster.wait_state(holder, "running")
        late = self.sleep(0, gpus=1, time_limit_s=60, deadline=instant(63))
        until(lambda: self.cluster.job(late)["state"] == "deadline_missed", 15, "the deadline to be missed")
        self.assertEqual(self.cluster.job(late)["attempts"], [])


if __name__ == "__main__":
    unittest.main()
