#!/usr/bin/env python3
"""A job that asks for its own end or its next attempt has its answer before it is signalled."""
import subprocess
import sys
import unittest

from cluster import Cluster, until

# As submitit's checkpoint does it: requeue from within, an error of the command is the job's error.
CHECKPOINT = """
import os, subprocess, sys
count = int(os.environ["SLURM_RESTART_COUNT"] or 0) if "SLURM_RESTART_COUNT" in os.environ else 0
with open("starts", "a") as file:
    file.write(f"{count}\\n")
if count < int(sys.argv[1]):
    subprocess.check_call(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]])
    with open("answers", "a") as file:
        file.write(f"{count}\\n")
    sys.exit(255)
"""
ROUNDS = 100


class Requeue(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=4).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def test_checkpoints_a_hundred_times(self):
        """Ten jobs of ten checkpoints each, side by side."""
        jobs, folders = [], []
        for number in range(10):
            folder = f"{self.cluster.folder}/check{number}"
            subprocess.run(["mkdir", folder], check=True)
            folders.append(folder)
            jobs.append(self.cluster.submit({"name": "check", "cores": 0, "workdir": folder, "command": [
                sys.executable, "-c", CHECKPOINT, str(ROUNDS // 10)]}))
        for job, folder in zip(jobs, folders):
            done = self.cluster.wait(job, limit_s=240)
            self.assertEqual((done["state"], done["exit_code"]), ("completed", 0), done["attempts"][-1])
            wanted = [str(count) for count in range(ROUNDS // 10)]
            with open(folder + "/answers") as file:
                self.assertEqual(file.read().split(), wanted, "each answer came")
            with open(folder + "/starts") as file:
                self.assertEqual(file.read().split(), [*wanted, str(ROUNDS // 10)])

    def test_the_line_after_it_runs(self):
        script = ("#!/bin/bash\n[ ${SLURM_RESTART_COUNT:-0} -ge 1 ] && exit 0\n"
                  "scontrol requeue $SLURM_JOB_ID; echo rc $? > after; sleep 60\n")
        job = self.cluster.run("submit", "-o", "name", "--chdir", self.cluster.folder, "-",
                               input=script).stdout.strip()
        done = self.cluster.wait(job)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 2))
        with open(self.cluster.folder + "/after") as file:
            self.assertEqual(file.read(), "rc 0\n")

    def test_a_job_that_cancels_itself_hears_it(self):
        job = self.cluster.submit({"name": "own", "command": [
            "sh", "-c", f"scancel $SLURM_JOB_ID; echo rc $? > {self.cluster.folder}/cancelled; sleep 60"]})
        self.assertEqual(self.cluster.wait(job)["state"], "cancelled")
        with open(self.cluster.folder + "/cancelled") as file:
            self.assertEqual(file.read(), "rc 0\n")

    def test_others_do_not_wait(self):
        job = self.cluster.submit({"name": "deaf", "kill_grace_s": 60, "command": ["sleep", "600"]})
        self.cluster.wait_state(job, "running")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
        until(lambda: self.cluster.job(job)["state"] == "cancelled", 20, "the job to end")


if __name__ == "__main__":
    unittest.main()
