#!/usr/bin/env python3
"""What programs that drive Slurm ask of it: sacct, squeue, scontrol, sinfo under their own names."""
import json
import os
import signal
import sys
import unittest

from cluster import Cluster, until

STEPS = """\
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 -J steps -t 5 -o steps.out
srun hostname
srun -n1 -N1 -J named bash -c 'exit 3'
srun bash -c 'kill -9 $$'
exit 2
"""


class Accounting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=4).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.folder = os.path.join(cls.cluster.folder, "work")
        os.makedirs(cls.folder)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)
        with open("steps.sh", "w") as file:
            file.write(STEPS)

    def call(self, name, *arguments, code=0):
        done = self.cluster.run(*arguments, name=name, check=False)
        self.assertEqual(done.returncode, code, f"{name} {arguments}: {done.stdout}{done.stderr}")
        return done

    def sbatch(self, *arguments):
        return self.call("sbatch", "--parsable", *arguments).stdout.strip()

    def sacct(self, *arguments):
        """Rows as lists of their fields."""
        return [line.split("|") for line in self.call("sacct", "-n", "-P", *arguments).stdout.splitlines()]

    def test_jobs_and_their_steps(self):
        job = self.sbatch("steps.sh")
        self.cluster.wait(job)
        rows = self.sacct("-j", job, "-o", "JobID,JobName,State,ExitCode,NTasks,AllocCPUS,User,NNodes")
        self.assertEqual(rows, [[job, "steps", "FAILED", "2:0", "", "4", "root", "2"],
                                [job + ".batch", "batch", "FAILED", "2:0", "1", "2", "", "1"],
                                [job + ".0", "hostname", "COMPLETED", "0:0", "4", "4", "", "2"],
                                [job + ".1", "named", "FAILED", "3:0", "1", rows[3][5], "", "1"],
                                [job + ".2", "bash", "CANCELLED", "0:9", "4", "4", "", "2"]])
        self.assertEqual(self.sacct("-X", "-j", job, "-o", "DerivedExitCode,NodeList,Timelimit,TimelimitRaw"),
                         [["3:0", "node[1-2]", "00:05:00", "5"]])
        self.assertEqual(self.sacct("-j", job + ".1", "-o", "JobID"), [[job + ".1"]])
        self.assertEqual(self.sacct("-j", job + ".batch," + job + ".0", "-o", "JobID"), [[job + ".batch"], [job + ".0"]])

    def test_a_job_whose_nodes_prepare_runs_for_the_accounts(self):
        """submitit takes any state that it does not know for an end, and asks no more."""
        for agent in self.cluster.agents.values():
            agent.send_signal(signal.SIGSTOP)
        try:
            job = self.sbatch("--wrap", "true", "-o", "/dev/null")
            self.cluster.wait_state(int(job), "preparing")
            self.assertEqual(self.sacct("-X", "-j", job, "-o", "State"), [["RUNNING"]])
            self.assertEqual(self.sacct("-X", "-s", "R", "-j", job, "-o", "JobID"), [[job]])
            self.assertEqual(self.call("squeue", "-h", "-j", job, "-o", "%T").stdout, "CONFIGURING\n")
        finally:
            for agent in self.cluster.agents.values():
                agent.send_signal(signal.SIGCONT)
        self.assertEqual(self.cluster.wait(int(job))["state"], "completed")

    def test_steps_outlive_the_server(self):
        job = self.sbatch("steps.sh")
        self.cluster.wait(job)
        go = os.path.join(self.folder, "go")
        running = self.sbatch("-o", "/dev/null", "--wrap", f"srun -J waits sh -c 'until test -e {go}; do sleep 0.1; done; exit 4'")
        fields = ["-o", "JobID,JobName,State,ExitCode,NTasks,AllocCPUS,NNodes,Start,End"]
        until(lambda: len(self.sacct("-j", running)) == 3, 20, "the step to run")
        before = self.sacct("-j", job, *fields)
        self.assertEqual(len(before), 5)
        self.cluster.server.kill()
        self.cluster.server.wait(10)
        self.cluster.api.close()
        self.cluster.start_server()
        self.cluster.wait_connected()
        self.assertEqual(self.sacct("-j", job, *fields), before)
        open(go, "w").close()
        self.assertEqual(self.cluster.wait(running)["exit_code"], 4)
        self.assertEqual(self.sacct("-j", running + ".0", "-o", "JobID,JobName,State,ExitCode"),
                         [[running + ".0", "waits", "FAILED", "4:0"]])

    def test_how_jobs_end(self):
        killed, array = self.sbatch("--wrap", "kill -9 $$"), self.sbatch("-a", "1-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
        never = self.sbatch("-d", "afterok:" + killed, "--wrap", "true")
        held = self.sbatch("-H", "-a", "0-6:2%2", "--wrap", "true")
        self.addCleanup(self.call, "scancel", held)
        self.call("srun", "-n2", "false", code=1)
        for one in (killed, array + "_3", never):
            self.cluster.wait(one)
        self.assertEqual(self.sacct("-j", killed, "-o", "State,ExitCode"), [["FAILED", "0:9"], ["CANCELLED", "0:9"]])
        self.assertEqual(self.sacct("-X", "-j", array, "-o", "JobID,ExitCode"),
                         [[f"{array}_{i}", f"{i}:0"] for i in (1, 2, 3)])
        self.assertEqual(self.sacct("-X", "-j", array + "_1", "-j", array + "_3", "-o", "JobID", "-o", "State"),
                         [[array + "_1", "FAILED"], [array + "_3", "FAILED"]])
        self.assertEqual(self.sacct("-X", "-j", f"{array}_[2-3]", "-o", "JobID"), [[array + "_2"], [array + "_3"]])
        self.assertEqual(self.sacct("-j", never, "-o", "State,ExitCode,NodeList"), [["CANCELLED", "0:0", "None assigned"]])
        self.assertEqual(self.sacct("-j", held, "-o", "JobID,State,Start,Elapsed"),
                         [[held + "_[0,2,4,6%2]", "PENDING", "Unknown", "00:00:00"]])
        self.assertEqual(self.sacct("-X", "--name", "false", "-o", "State,ExitCode"), [["FAILED", "1:0"]])

    def test_what_is_listed(self):
        here = self.sbatch("-J", "mine", "--wrap", "true")
        self.cluster.wait(here)
        for options in ([], ["-S", "now-1hour"], ["-s", "CD", "-S", "today"], ["-M", "all", "-S", "now-2days", "-E", "now"]):
            with self.subTest(options):
                self.assertIn([here], self.sacct("-X", "-o", "JobIDRaw", "--name", "mine", *options))
        for options in (["-E", "now-1hour", "-S", "now-2hours"], ["-s", "F", "-S", "today"], ["-u", "nobody"]):
            with self.subTest(options):
                self.assertEqual(self.sacct("-X", "-o", "JobIDRaw", "--name", "mine", *options), [])
        self.assertEqual(self.sacct("-j", "99999"), [])
        for wrong in (["-o", "nosuch"], ["-S", "soon"], ["-j", "x"], ["-s", "XX"]):
            with self.subTest(wrong):
                self.assertTrue(self.call("sacct", *wrong, code=1).stderr.startswith("sacct: error: "))
        table = self.call("sacct", "-X", "-j", here, "-o", "jobid%-20,state%4,jobname").stdout.splitlines()
        self.assertEqual(table, ["JobID                Stat    JobName ", "-------------------- ---- ---------- ",
                                 f"{here:20} COM+       mine "])
        self.assertEqual(self.call("sacct", "-p", "-n", "-X", "-j", here, "-o", "jobname,state").stdout,
                         "mine|COMPLETED|\n")

    def test_every_field_of_slurm_is_there(self):
        job = self.sbatch("--wrap", "true")
        self.cluster.wait(job)
        names = self.call("sacct", "--helpformat").stdout.split()
        self.assertEqual(len(names), 109)
        row = dict(zip(names, self.sacct("-X", "-j", job, "-o", ",".join(names))[0]))
        self.assertEqual((row["Cluster"], row["UID"], row["WorkDir"], row["MaxRSS"], row["AllocTRES"], row["Submit"][:2]),
                         ("dove", "0", os.path.realpath(self.folder), "", "billing=1,cpu=1,node=1", "20"))

    def test_as_json(self):
        job = self.sbatch("-o", "x.out", "-J", "told", "steps.sh")
        self.cluster.wait(job)
        told = json.loads(self.call("sacct", "--json", "-j", job).stdout)["jobs"][0]
        self.assertEqual((told["job_id"], told["state"]["current"], told["exit_code"]["return_code"], told["steps"][0]["step"]["id"]),
                         (int(job), "FAILED", 2, "batch"))
        told = json.loads(self.call("squeue", "--json", "-j", job).stdout)["jobs"][0]
        self.assertEqual((told["job_state"], told["exit_code"], told["standard_output"], told["command"]),
                         ("FAILED", 512, os.path.realpath(self.folder) + "/x.out", os.path.realpath(self.folder) + "/steps.sh"))

    def test_squeue_of_a_job_that_is_not_there(self):
        self.assertEqual(self.call("squeue", "-j", "99999", code=1).stderr, "slurm_load_jobs error: Invalid job id specified\n")
        job = self.sbatch("--wrap", "true")
        self.cluster.wait(job)
        self.assertEqual(self.call("squeue", "-h", "-j", job).stdout, "")  # known, and over
        self.assertEqual(self.call("squeue", "-h", "-j", job + ",99999").stdout, "")
        self.assertEqual(self.call("squeue", "-h", "--only-job-state", "-t", "all", "-j", job, "-o", "%i|%T|%U").stdout,
                         f"{job}|COMPLETED|0\n")

    def test_config_and_all_columns(self):
        text = self.call("scontrol", "show", "config").stdout
        found = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
        found = {name.strip(): value for name, value in found.items()}
        self.assertEqual((found["MinJobAge"], found["ClusterName"], found["SelectType"], found["SLURM_VERSION"][:7]),
                         ("604800 sec", "dove", "select/cons_tres", "22.05.8"))
        head, *rows = self.call("sinfo", "-o", "%all").stdout.splitlines()
        self.assertEqual({row.count("|") for row in [head, *rows]}, {head.count("|")})
        self.assertIn("AVAIL", head.split("|"))

    def test_paths_are_absolute(self):
        job = self.sbatch("-H", "steps.sh", "a")
        self.addCleanup(self.call, "scancel", job)
        text = self.call("scontrol", "show", "job", job).stdout
        here = os.path.realpath(self.folder)
        for line in (f"StdOut={here}/steps.out", f"StdErr={here}/steps.out", "StdIn=/dev/null", f"WorkDir={here}",
                     f"Command={here}/steps.sh", "UserId=root(0)", "ExitCode=0:0"):
            self.assertIn(line, text)

    def test_an_allocation_and_a_command_in_it(self):
        done = self.call("salloc", "-N2", "-n3", "-J", "held", "bash", "-c",
                         "echo $SLURM_NNODES $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_JOB_NAME $SLURM_JOB_ID; "
                         f"{self.face('srun')} -l bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS' | sort; exit 5", code=5)
        first, *rest = done.stdout.splitlines()
        *words, job = first.split()
        self.assertEqual((words, rest), (["2", "3", "2,1", "held"], ["0: 0 of 3", "1: 1 of 3", "2: 2 of 3"]))
        self.assertIn(f"salloc: Granted job allocation {job}\n", done.stderr)
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        self.call("salloc", "-n1", "no-such-program", code=127)
        self.call("salloc", "--nodes=two", "true", code=1)

    def face(self, name):
        self.call(name, "--version")
        return os.path.join(self.cluster.folder, "faces", name)

    def test_what_is_declared(self):
        with open("lab.yaml", "w") as file:
            file.write("kind: Project\nname: vision\nusers: [ann, ben]\nlimits: {jobs_running: 4}\n"
                       "---\nkind: Queue\nname: fast\npriority: 7\n")
        self.call("dove", "apply", "-f", "lab.yaml")
        self.assertEqual(self.call("sacctmgr", "-n", "-P", "-s", "list", "user", "ann", "format=account%256,user").stdout,
                         "vision|ann\n")
        self.assertEqual(self.call("sacctmgr", "-n", "show", "user", "nosuch").stdout, "")
        self.assertEqual(self.call("sacctmgr", "-n", "-P", "show", "account", "format=Account,Descr").stdout, "vision|vision\n")
        self.assertEqual(self.call("sacctmgr", "-P", "show", "assoc", "where", "account=vision", "format=user,grpjobs").stdout,
                         "User|GrpJobs\n|4\nann|\nben|\n")
        self.assertIn("fast|7\n", self.call("sacctmgr", "-n", "-P", "show", "qos", "format=name,priority").stdout)
        self.assertEqual(self.call("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster").stdout, "dove\n")
        self.assertIn("dove apply", self.call("sacctmgr", "add", "user", "cid", code=1).stderr)
        self.assertIn("No valid entity", self.call("sacctmgr", "show", "nothing", code=1).stderr)
        shares = [line.split("|") for line in self.call("sshare", "-a", "-P", "-n").stdout.splitlines()]
        self.assertEqual([row[:4] for row in shares], [["root", "", "", ""], [" vision", "", "1", "1.000000"],
                                                       ["  vision", "ann", "1", "0.500000"],
                                                       ["  vision", "ben", "1", "0.500000"]])
        self.assertEqual(self.call("sshare", "-U", "-u", "ben", "-n", "--format", "Account%10").stdout, "    vision \n")

    def test_priorities_and_running_steps(self):
        blocker = self.sbatch("-N2", "--exclusive", "--wrap", "srun -n1 -N1 sleep 100; true")
        self.addCleanup(self.call, "scancel", blocker)
        self.cluster.wait_state(blocker, "running")
        waits = self.sbatch("--wrap", "true")
        self.addCleanup(self.call, "scancel", waits)
        self.assertEqual(self.call("sprio", "-h", "-j", waits, "-o", "%i %Y %u").stdout, f"{waits} 0 root\n")
        self.assertEqual(self.call("sprio", "-h", "-w", "-o", "%i %S %q").stdout, "Weights 1 1\n")
        until(lambda: self.cluster.job(blocker)["steps"], 20, "the step")
        said = self.call("sstat", "-n", "-P", "-a", "-j", blocker, "-o", "JobID,NTasks,MaxRSS").stdout
        self.assertEqual(said, f"{blocker}.batch|1|\n{blocker}.0|1|\n")
        self.assertEqual(self.call("sstat", "-n", "-P", "-j", blocker, "-o", "JobID").stdout, f"{blocker}.0\n")
        self.assertIn("couldn't get steps", self.call("sstat", "-n", "-j", waits).stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
