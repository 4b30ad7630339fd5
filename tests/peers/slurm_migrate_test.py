#!/usr/bin/env python3
# waits
"""dove migrate slurm on what a real Slurm with accounting says of itself: every option that it has is known, and its
own dumps make objects that dove apply takes.

Skips where Slurm with slurmdbd and MariaDB (tools/setup peers, as root) is missing.
"""
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import SKIP, Cluster  # noqa: E402
from slurm_lab import SlurmLab, accounting_available  # noqa: E402

# Lines of `scontrol show config` that are states of the running Slurm, and no options.
STATES = {"BOOT_TIME", "HASH_VAL", "MULTIPLE_SLURMD", "NEXT_JOB_ID", "SLURM_CONF", "SLURM_VERSION"}


class Migrate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = SlurmLab(nodes=2, cpus=4, gpus=2, accounting=True).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)
        cls.cluster = Cluster(nodes=0).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)

    def migrate(self, conf, *options):
        return self.cluster.run("migrate", "slurm", "--conf", conf, *options)

    def test_every_option_of_this_slurm_is_known(self):
        shown = self.lab.run("scontrol show config").split("MPI Plugins")[0]
        options = [name for name in re.findall(r"^(\w+)(?:\[\d+\])?\s*=", shown, re.M) if name not in STATES]
        self.assertGreater(len(options), 180)
        conf = os.path.join(self.lab.folder, "all.conf")
        with open(conf, "w") as file:
            file.writelines(f"{name}=1\n" for name in options)
        self.assertRegex(self.migrate(conf).stderr, r"\(0 of them unknown\)\n$")

    def test_its_own_files_and_dumps(self):
        for command in ("add account lab Cluster=bench Fairshare=10 GrpTRES=cpu=8,mem=64G GrpJobs=5",
                        "add account vision Cluster=bench parent=lab Fairshare=3 GrpSubmitJobs=20",
                        "add user nobody Account=vision Cluster=bench MaxJobs=2",
                        "add user daemon Account=lab Cluster=bench AdminLevel=Operator",
                        "add coordinator Account=lab Names=daemon",
                        "add qos high Priority=1000 GrpTRES=cpu=4 GrpJobs=3 Preempt=normal MaxWall=1-0"):
            self.lab.run("sacctmgr -i " + command)
        dump, qos = (os.path.join(self.lab.folder, name) for name in ("dump", "qos"))
        self.lab.run(f"sacctmgr -i dump bench file={dump}")
        with open(qos, "w") as file:
            file.write(self.lab.run("sacctmgr -P show qos"))
        done = self.migrate(self.lab.folder + "/slurm.conf", "--assoc", dump, "--qos", qos)
        self.assertRegex(done.stderr, r"\(0 of them unknown\)\n$")
        self.assertIn("\nname: vision\nlimits: {jobs_waiting: 20}\n", done.stdout)
        self.assertIn("\nname: high\nband: 1\npriority: 1000\nlimits: {jobs_running: 3, cores: 4}\n", done.stdout)
        self.assertIn("\nname: lab.managers\nproject: lab\nrole: manager\nusers: [daemon]\n", done.stdout)
        dry = self.cluster.run("apply", "--dry-run", "-f", "-", input=done.stdout).stdout
        for words in ("pool/main", "queue/lab", "project/vision", "binding/vision.members", "limit/nobody"):
            self.assertIn(words, dry)


if __name__ == "__main__":
    if not accounting_available():
        print("no Slurm with accounting here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
