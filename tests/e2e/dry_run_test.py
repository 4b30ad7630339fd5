#!/usr/bin/env python3
"""`dove submit --dry-run` and `dove submit` agree about every job: both take it, or both refuse it for the same reason.

A property over random sets of the options of sbatch (the table of docs/guide/sbatch.md), for scripts, commands, --wrap
and job files, against a real server. The seed is fixed."""
import os
import random
import re
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from cluster import Cluster

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETS = 60
SCRIPT = "#!/bin/sh\ntrue\n"
JOB = "name: native\ncommand: ['true']\ngroups: [{tasks: 4, tasks_per_node: 2, per_task: {cores: 1}}]\n"
COUNTS = ("0", "1", "2", "3", "4", "7", "100", "1000000", "-1", "x")
AMOUNTS = ("0", "1", "512M", "4G", "1000T", "y")
VALUES = {
    "account": ("", "default"), "array": ("0-3", "1,3%1", "5-1", ""), "begin": ("now+1hour", "soon"),
    "chdir": ("/tmp", "sub", "../x"), "constraint": ("a&b", "a|b", ""), "container-image": ("img", "a b"),
    "container-mounts": ("/tmp:/x", "relative"), "container-network": ("host", "moon"),
    "container-publish": ("80", "x"), "container-workdir": ("/x", "x"), "comment": ("hello", ""),
    "deadline": ("now+1day", "never"), "dependency": ("singleton", "afterok:0", ""), "exclude": ("n1", "n[1-", ""),
    "exclusive": ("", "user"), "export": ("ALL", "NONE", "A=1", "1=2"), "extra": ("e", ""),
    "gpus": COUNTS + ("h200:2", "h200"), "gpus-per-node": COUNTS + ("h200:2",), "gpus-per-task": COUNTS,
    "gres": ("gpu:1", "gpu:h200:2", "rdma:1", "none", "", "a:b:c:d"), "input": ("/dev/null", "../in"),
    "job-name": ("x", "", "a/b", "x" * 300), "kill-on-invalid-dep": ("yes", "no", "z"), "licenses": ("a,a", ""),
    "mem": AMOUNTS, "mem-per-cpu": AMOUNTS, "mem-per-gpu": AMOUNTS, "nice": ("", "5", "2000000000", "-7"),
    "nodelist": ("node1", "node[1-2]", ""), "nodes": ("1", "2", "2-4", "4-2", "0", "100000"),
    "open-mode": ("append", "z"), "preempt": ("never", "restart", "z"), "priority": ("3", "2000000000", "TOP", "x"),
    "output": ("x-%j", "../%x", "%q"), "error": ("e-%J",), "requeue": ("",), "signal": ("USR1@60", "B:TERM", "?"),
    "slice-min": ("10", "z"), "switches": ("1", "2@10", "0"), "time": ("10", "1-", "0", "9999999", "z"),
    "wckey": ("w", ""),
}
# What asks the server for something that it may lack, reads files, or changes what the command does.
LEFT_OUT = {"help", "usage", "version", "wait", "test-only", "wrap", "nodefile", "export-file", "partition", "qos",
            "reservation", "executor", "quiet", "parsable", "verbose", "hold"}


def table():
    with open(os.path.join(ROOT, "docs/guide/sbatch.md")) as file:
        rows = re.findall(r"^\| (?:`-\w`, )?`--([a-z-]+)` \| (\w+) \|", file.read(), re.M)
    return [name for name, effect in rows if effect == "honoured" and name not in LEFT_OUT]


class DryRun(unittest.TestCase):
    def test_it_agrees_with_submission(self):
        options = table()
        self.assertGreater(len(options), 50)
        chance = random.Random(13)
        with Cluster(nodes=1, gpus=2) as cluster, ThreadPoolExecutor(4) as pool:
            os.chdir(cluster.folder)
            for name, text in (("job.sh", SCRIPT), ("job.yaml", JOB)):
                with open(name, "w") as file:
                    file.write(text)
            ways = (["job.sh"], ["job.yaml"], ["--wrap", "true"], ["--", "true"])

            def both(given):
                return given, [cluster.run("submit", *more, *given, check=False) for more in (["--dry-run"], ["--hold"])]

            sets = [[f"--{name}={value}" for value in VALUES.get(name, COUNTS)] for name in options]
            drawn = [[each] for values in sets for each in values]
            for _ in range(SETS):
                drawn.append([chance.choice(values) for values in chance.sample(sets, chance.randint(2, 4))])
            drawn += [["-N2", "--ntasks-per-node=2"], ["--ntasks-per-node=2"], ["-N4"], ["-N1", "--ntasks-per-node=2", "-G2"]]
            tried = [[*each, *chance.choice(ways)] for each in drawn[:-4]] + [[*each, *way] for each in drawn[-4:] for way in ways]
            taken = 0
            for given, (dry, real) in pool.map(both, tried):
                with self.subTest(given):
                    self.assertEqual(dry.returncode, real.returncode, (dry.stderr, real.stderr))
                    taken += dry.returncode == 0
                    if dry.returncode != 0:
                        self.assertEqual(dry.stderr, real.stderr)
            self.assertGreater(taken, len(tried) // 3)

    def test_tasks_are_nodes_times_tasks_per_node(self):
        with Cluster(nodes=2) as cluster:
            cluster.run("submit", "--wait", "-N2", "--ntasks-per-node=2", "--", "true")
            done = cluster.run("-N2", "--ntasks-per-node=2", "sh", "-c", "echo $SLURM_NTASKS", name="srun")
            self.assertEqual(done.stdout.split(), ["4"] * 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
