#!/usr/bin/env python3
"""Limits of one job, of a month and of a domain: whom they stop, what they say, and who may raise them."""
import json
import os
import sys
import unittest

from cluster import Cluster

DOMAIN = """\
kind: Domain
name: corp
limits: {cores: 3, job: {cores: 2, time_limit: 1h}}
---
kind: Project
name: vision
domain: corp
"""


class Limits(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=1, gpus=2, cores=8).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.cluster.folder)

    def dove(self, *arguments, check=True, input=None):
        return self.cluster.run(*arguments, check=check, input=input, cwd=self.cluster.folder)

    def submit(self, *options):
        said = self.dove("submit", *options)
        return int(said.stdout.split()[-1]), said.stderr

    def limit(self, hours):
        self.dove("apply", "-f", "-", input=f'kind: Limit\nname: "*"\nlimits: {{gpu_hours_month: {hours}}}\n')

    def test_a_month_that_is_used_up(self):
        self.limit(0)
        job, said = self.submit("--gpus", "1", "--wrap", "true")
        self.assertIn("the job waits for the next month", said)
        why = self.dove("why", str(job)).stdout
        self.assertIn("has used 0 of 0 GPU hours in", why)
        self.assertIn("the month ends", why)
        self.assertIn("an administrator of the cluster may raise it", why)
        refused = self.dove("submit", "--gpus", "1", "-t", "1", "--deadline", "now+2minutes", "--wrap", "true",
                            check=False)
        self.assertIn("the deadline does not leave time to wait for the next month", refused.stderr)
        without, _ = self.submit("--wrap", "true")
        self.cluster.wait(without)
        self.limit(1)
        self.cluster.wait(job)
        self.assertIn("GPU hours this month", self.dove("quota").stdout)
        rows = json.loads(self.dove("quota", "-o", "json").stdout)["quota"]
        month = [row for row in rows if row["resource"] == "gpu_ms_month"][0]
        self.assertEqual(month["limit"], 3600 * 1000)
        self.assertGreater(month["used"], 0)
        self.assertLess(month["used"], 60 * 1000)

    def test_a_domain_and_each_of_its_jobs(self):
        self.dove("apply", "-f", "-", input=DOMAIN)
        refused = self.dove("submit", "-A", "vision", "--wrap", "true", check=False)
        self.assertIn("has no time limit: give it one (--time)", refused.stderr)
        refused = self.dove("submit", "-A", "vision", "-t", "10", "-c3", "--wrap", "true", check=False)
        self.assertIn("domain corp may have 2 cores in one job and this one asks for 3, over by 1", refused.stderr)
        job, _ = self.submit("-A", "vision", "-t", "10", "-c2", "--wrap", "sleep 60")
        refused = self.dove("submit", "-A", "vision", "-t", "10", "-c2", "--wrap", "true", check=False)
        self.assertIn('domain "corp" would be over its quota (cores: 2 used, 2 asked, limit 3, over by 1)',
                      refused.stderr)
        other, _ = self.submit("-c2", "--wrap", "true")  # of nobody's domain
        self.cluster.wait(other)
        shown = self.dove("quota", "--project", "vision").stdout
        self.assertIn("domain corp", shown)
        self.assertIn("time limit of a job", shown)
        self.dove("cancel", str(job))
        self.cluster.wait(job)


if __name__ == "__main__":
    sys.exit(unittest.main())
