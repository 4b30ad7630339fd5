#!/usr/bin/env python3
# limit_s: 300
# waits
"""Nodes of a real Slurm that are in several partitions, with limits, tiers and rights, as at most sites: what holds our work
and what is not lent starts all the same, and does not end by the partition's limit.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import re

from shared_nodes import main, until
from slurm_lab import SlurmLab
from slurm_lent_test import Lent


class ManyPartitions(SlurmLab):
    partitions = ("EnforcePartLimits=ALL",
                  "PartitionName=main Nodes=ALL Default=YES MaxTime=5 State=UP PriorityTier=2",
                  "PartitionName=long Nodes=ALL MaxTime=10 State=UP PriorityTier=2",
                  "PartitionName=whole Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2 OverSubscribe=EXCLUSIVE",
                  "PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1",
                  "PartitionName=theirs Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 AllowAccounts=theirs")


class Partitions(Lent):
    lab_class = ManyPartitions

    def held_by(self, prefix):
        """[(partition, limit, state)] of the jobs whose names begin so."""
        lines = [line.split() for line in self.lab.run("squeue -h -o '%j %P %l %T'").splitlines()]
        return [tuple(rest) for name, *rest in lines if name.startswith(prefix)]

    def test_a_job_without_a_limit_is_held_for_beyond_that_of_the_partition(self):
        job = self.submit(2, node="n1")
        devices = self.started(job)
        self.assertEqual(self.placeholder(job), devices)
        self.assertEqual(self.held_by(f"dove-{job}."), [("long", "UNLIMITED", "RUNNING")])

    def test_a_job_with_a_longer_limit_is_held_for_until_its_end(self):
        job = self.submit(1, node="n1", time_limit="1h")
        self.started(job)
        [(partition, limit, _)] = self.held_by(f"dove-{job}.")
        self.assertEqual(partition, "long")
        hours, minutes = re.fullmatch(r"(\d):(\d\d):00", limit).groups()
        self.assertTrue(60 <= int(hours) * 60 + int(minutes) <= 65, limit)

    def test_what_is_not_lent_is_held_without_an_end(self):
        self.lend([3])
        until(lambda: self.held_by("dove-keep-") == [("long", "UNLIMITED", "SUSPENDED")] * 3, 20, "the fences to be suspended")


for inherited in [name for name in dir(Lent) if name.startswith("test_")]:
    setattr(Partitions, inherited, None)
del inherited, Lent

if __name__ == "__main__":
    main()
