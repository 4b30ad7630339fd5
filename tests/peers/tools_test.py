#!/usr/bin/env python3
"""Tools that drive a Slurm cluster, as PyPI has them, on a real Slurm and on Dovetail: the same results.

The tools' own programs lie in tools/; both places run them at the same time. Skips where Slurm with its accounting or
the tools (`tools/setup peers`, as root, then `tools/peer_tools`) are missing; with CI=true that is a failure.
DOVE_SNAKEMAKE_PARTS=200 gives snakemake 200 files to make, instead of 6; DOVE_SUBMITIT_REQUEUES=100 has submitit save its
work and ask for its next attempt 100 times in a row on Dovetail, instead of 3.
"""
# limit_s: 420
import os
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))
from places import HERE, Places, available  # noqa: E402

SKIP = 77
SNAKEMAKE_PARTS = int(os.environ.get("DOVE_SNAKEMAKE_PARTS", "6"))
REQUEUES = int(os.environ.get("DOVE_SUBMITIT_REQUEUES", "3"))
STEPS = """\
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 -J steps -t 5 -o steps.out
srun hostname
srun -N2 -n2 -J named bash -c 'exit 3'
srun bash -c 'kill -9 $$'
exit 2
"""
FIELDS = ("JobID,JobName,State%10,ExitCode,DerivedExitCode,NTasks,AllocCPUS,NCPUS,NNodes,AllocNodes,ReqCPUS,ReqNodes,User,"
          "UID,Group,Timelimit,TimelimitRaw,AllocTRES,WorkDir,MaxRSS,AveCPU,Comment,Suspended,Reservation")


def settled(place, names, count):
    """Slurm's accounting hears of jobs some time after they end."""
    deadline = time.monotonic() + 60
    while True:
        rows = place.run("sacct", "-X", "-n", "-P", "--name", names, "-o", "State,End").stdout.splitlines()
        if len(rows) == count and not any("Unknown" in row for row in rows):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{place.name}: {rows}")
        time.sleep(0.3)


class Tools(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.places = Places()
        cls.places.__enter__()
        cls.addClassCleanup(cls.places.__exit__, None, None, None)

    def same(self, what):
        theirs, ours = self.places.both(what)
        self.assertEqual(ours, theirs)
        return ours

    def test_submitit(self):
        expected = {
            "plain": [12, "FailedJobError", "COMPLETED", "FAILED", True, True],
            "arrays": [[10, 12, 14, 16, 18, 20, 0, 2, 4], ["COMPLETED"] * 9],
            "cancelled": ["CANCELLED", True],
            "gang": [[rank, rank % 2, rank // 2, 4] for rank in range(4)]}
        for what, result in expected.items():
            with self.subTest(what):
                self.assertEqual(self.same(lambda place: place.tool("submitit_work.py", what)), result)

    def test_submitit_saves_and_goes_on_many_times(self):
        def what(place):
            times = REQUEUES if place.name == "Dovetail" else 1  # Slurm lets a requeued job wait
            said = place.tool("submitit_work.py", "requeued", str(times), limit_s=60 + 30 * times)
            return said[0] - times, said[1]
        self.assertEqual(self.same(what), (1, "COMPLETED"))

    def test_parsl(self):
        said = self.same(lambda place: place.tool("parsl_work.py"))
        self.assertEqual((said["squares"], said["nodes"]), ([i * i for i in range(12)], ["0", "1"]))

    def test_dask_jobqueue(self):
        self.assertEqual(self.same(lambda place: place.tool("dask_work.py")), [2470, list(range(1, 13))])

    def test_snakemake(self):
        for way in ("sacct", "squeue"):
            def what(place, way=way):
                folder = os.path.join(place.folder, "snakemake-" + way)
                shutil.copytree(os.path.join(HERE, "snakemake"), folder)
                done = place.snakemake(folder, way, SNAKEMAKE_PARTS)
                if done.returncode != 0:
                    raise AssertionError(f"{place.name}: {done.stdout}{done.stderr}")
                steps = [line for line in done.stderr.splitlines() if "(100%) done" in line]
                with open(folder + "/sum.txt") as file:
                    return file.read(), steps
            with self.subTest(way):
                total = sum(range(SNAKEMAKE_PARTS))
                count = SNAKEMAKE_PARTS + 2
                self.assertEqual(self.same(what), (f"{total}\n", [f"{count} of {count} steps (100%) done"]))

    def test_nextflow(self):
        def what(place):
            folder = os.path.join(place.folder, "nextflow")
            shutil.copytree(os.path.join(HERE, "nextflow"), folder)
            done = place.nextflow(folder, "--parts", "8", "--folder", folder)
            if done.returncode != 0:
                raise AssertionError(f"{place.name}: {done.stdout}{done.stderr}")
            with open(folder + "/sum.txt") as file:
                return file.read(), "terminated with an error exit status (7) -- Error is ignored" in done.stdout
        self.assertEqual(self.same(what), ("28\n2\n", True))

    def test_sacct_itself(self):
        def what(place):
            with open(place.folder + "/steps.sh", "w") as file:
                file.write(STEPS)
            place.run("sbatch", "-W", "steps.sh")
            array = place.run("sbatch", "-W", "--parsable", "-J", "numbers", "-t", "5", "-o", "/dev/null", "-a", "1-5:2", "--wrap",
                              "exit $SLURM_ARRAY_TASK_ID").stdout.strip()
            killed = place.run("sbatch", "-W", "--parsable", "-J", "killed", "-t", "5", "-o", "/dev/null", "--wrap",
                               "kill -9 $$").stdout.strip()
            settled(place, "steps,numbers,killed", 5)
            rows = []
            for choice in (["--name", "steps"], ["-j", f"{array},{killed}"], ["-X", "-j", f"{array}_3"],
                           ["-S", "now-1hour", "-E", "now", "-s", "F", "--name", "killed"], ["-j", "99999"], ["-X", "-u", "nobody"]):
                text = place.run("sacct", "-P", "-o", FIELDS, *choice).stdout
                for number, job in enumerate((array, killed)):
                    text = text.replace(f"\n{job}_", f"\njob{number}_").replace(f"\n{job}|", f"\njob{number}|")
                    text = text.replace(f"\n{job}.", f"\njob{number}.")
                text = text.replace(place.folder, "FOLDER")
                rows.append([text.splitlines()[0], *sorted(line.split("|", 1)[-1] for line in text.splitlines()[1:])])
            return rows
        self.assertGreater(len(self.same(what)[0]), 5)

    def test_salloc(self):
        def what(place):
            done = place.run("salloc", "-N2", "-n3", "-J", "held", "bash", "-c",
                             "echo $SLURM_NNODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_JOB_NAME; "
                             "srun -l bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS' | sort; exit 5")
            missing = place.run("salloc", "-N2", "no-such-program")
            return done.returncode, done.stdout, missing.returncode != 0
        self.assertEqual(self.same(what), (5, "2 3 2,1 held\n0: 0 of 3\n1: 1 of 3\n2: 2 of 3\n", True))

    def test_what_programs_ask_of_the_cluster(self):
        def what(place):
            config = dict(line.split("=", 1) for line in place.run("scontrol", "show", "config").stdout.splitlines()
                          if "=" in line)
            config = {name.strip(): value.strip() for name, value in config.items()}
            unknown = place.run("squeue", "-j", "99999")
            return {"names": [name in config for name in ("MinJobAge", "MaxArraySize", "SLURM_VERSION", "ClusterName")],
                    "type": config["SelectType"], "storage": config["AccountingStorageType"],
                    "unknown": (unknown.returncode, unknown.stdout, unknown.stderr),
                    "accounting": place.run("sacct", "-j", "99999").stdout,
                    "bad": place.run("sacct", "-o", "nosuch").returncode,
                    "fields": place.run("sacct", "--helpformat").stdout.split(),
                    "users": place.run("sacctmgr", "-n", "show", "user", "nosuch").stdout,
                    "qos": len(place.run("sacctmgr", "-n", "-P", "show", "qos", "format=name").stdout.splitlines()),
                    "cluster": place.run("sacctmgr", "-n", "-P", "show", "cluster", "format=rpc").stdout,
                    "sshare": place.run("sshare", "-P").stdout.splitlines()[0],
                    "sstat": place.run("sstat", "-P", "-j", "99999", "-o", "JobID,NTasks,MaxRSS").stdout}
        self.same(what)


if __name__ == "__main__":
    missing = available()
    if missing:
        print(f"{missing}: tools/setup peers (as root), then tools/peer_tools, install it")
        sys.exit(SKIP)
    sys.exit(unittest.main())
