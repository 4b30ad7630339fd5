#!/usr/bin/env python3
"""dove migrate slurm: what it makes of a Slurm's files is accepted by dove apply, and each option is accounted for."""
import os
import re
import sys
import unittest

from cluster import Cluster

CONF = """\
ClusterName=lab
SlurmctldHost=head
MaxArraySize=1001
MaxJobCount=50000
PriorityType=priority/multifactor
PriorityDecayHalfLife=14-0
PriorityWeightFairshare=100000
PreemptType=preempt/qos
PreemptMode=REQUEUE
PrivateData=jobs
Licenses=matlab:10,fluent@flex:30
GresTypes=gpu
Colour=blue
Include more.conf
"""
MORE = """\
NodeName=DEFAULT CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=512000
NodeName=gpu[01-04] Features=h200,ib Gres=gpu:h200_0:1,gpu:h200_1:1,nic:2 CoreSpecCount=2 MemSpecLimit=4096
NodeName=old Feature=slow State=DRAIN Reason="bad fan, see ticket 7"
DownNodes=gpu04 State=DOWN Reason=moved
NodeSet=fast Feature=ib
PartitionName=DEFAULT MaxTime=7-00:00:00 DefaultTime=01:00:00 State=UP
PartitionName=gpu Nodes=fast Default=YES AllowAccounts=lab,vision PriorityTier=10 OverSubscribe=NO
PartitionName=whole Nodes=gpu[01-02],old OverSubscribe=EXCLUSIVE MaxTime=UNLIMITED
PartitionName=off Nodes=ALL State=INACTIVE
PartitionName=closed Nodes=ALL AllowGroups=no_such_group_here
"""
GRES = "NodeName=gpu[01-04] Name=gpu Type=h200_0 File=/dev/nvidia0\n"
DUMP = """\
# sacctmgr dump
Cluster - 'lab':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'lab':Description='the lab':Organization='uni':Fairshare=10:GrpTRES=cpu=800,mem=2T,gres/gpu:h200=16:GrpJobs=50
Parent - 'lab'
User - 'bob':DefaultAccount='lab':AdminLevel='Operator':Coordinator='lab':Fairshare=1
Account - 'vision':Fairshare=3:GrpSubmitJobs=20:GrpTRES=gres/gpu=4
Parent - 'vision'
User - 'ada':DefaultAccount='vision':Fairshare=2:MaxJobs=2:MaxSubmitJobs=10:QOS='+high'
"""
QOS = """\
Name|Priority|GraceTime|Preempt|Flags|UsageFactor|GrpTRES|GrpJobs|GrpSubmit|MaxWall|MaxTRESPU
normal|0|00:00:00|||1.000000|||||
high|1000|00:00:00|normal||1.000000|cpu=400,gres/gpu=8|30|100|1-00:00:00|gres/gpu=2
"""


class Migrate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        for name, text in (("slurm.conf", CONF), ("more.conf", MORE), ("gres.conf", GRES), ("dump", DUMP),
                           ("qos", QOS)):
            with open(cls.path(name), "w") as file:
                file.write(text)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.cluster.folder, name)

    def migrate(self, *options, **more):
        return self.cluster.run("migrate", "slurm", "--conf", self.path("slurm.conf"), *options, **more)

    def test_apply_takes_it_and_then_nothing_differs(self):
        done = self.migrate("--assoc", self.path("dump"), "--qos", self.path("qos"), "--report", self.path("report"))
        self.assertEqual(done.stderr, "")
        dry = self.cluster.run("apply", "--dry-run", "-f", "-", input=done.stdout).stdout
        for words in ("pool/gpu", "pool/closed", "queue/high", "queue/lab.own", "project/vision",
                      "binding/vision.members", "limit/ada", "node/gpu04", "cluster/"):
            self.assertIn(words, dry)
        self.cluster.run("apply", "-f", "-", input=done.stdout)
        self.assertEqual(self.cluster.run("diff", "-f", "-", input=done.stdout).stdout.strip(), "")
        pools = {pool["name"]: pool for pool in self.cluster.api.call("GET", "/v1/objects?kind=Pool")["objects"]}
        self.assertEqual((pools["gpu"]["nodes"], pools["gpu"]["projects"], pools["gpu"]["time_limit_max_s"]),
                         (["gpu[01-04]"], ["lab", "vision"], 7 * 24 * 3600))
        self.assertTrue(pools["whole"]["exclusive"])
        cluster = self.cluster.api.call("GET", "/v1/objects?kind=Cluster")["objects"][0]
        self.assertEqual(cluster["multifactor"]["fair_share"], 100000)
        self.assertFalse(pools["off"]["open"] or pools["closed"]["open"])

    def test_each_option_has_a_verdict_and_its_line(self):
        report = self.migrate("--assoc", self.path("dump"), "--qos", self.path("qos")).stderr
        lines = report.splitlines()
        self.assertIn("slurm.conf:13: Colour=blue: unknown: Slurm 22.05 has no such option: is it spelled right?",
                      lines)
        self.assertRegex(lines[-1], r"^\d+ carried over, \d+ approximated, \d+ without counterpart "
                                    r"\(1 of them unknown\)$")
        for line in lines[:-1]:
            self.assertRegex(line, r"^[\w.]+:\d+: .+: (carried over|approximated|without counterpart|unknown): .+")
        options = sum(len(re.findall(r"\S+=", line)) for text in (CONF, MORE, GRES) for line in text.splitlines())
        self.assertEqual(sum(line.split(":")[0].endswith(".conf") for line in lines), options)

    def test_files_that_are_not_there(self):
        done = self.migrate("--assoc", self.path("nowhere"), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    sys.exit(unittest.main())
