#!/usr/bin/env python3
# limit_s: 600
"""deploy/slurm/give_back in a real Slurm with the gate, without an adapter: the jobs at the gate of a partition become Slurm's own,
whatever their users wrote, and one that cannot keeps no other waiting.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import subprocess
import sys
import unittest

from gate_lab import LUA, ROOT, GateLab
from shared_nodes import SKIP, available

MARK = "dovetail-gate"
KEPT = ("--begin=now+1hour",)  # not even one that is released starts


class GiveBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = GateLab(nodes=1, cpus=8, gpus=2).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)

    def setUp(self):
        self.addCleanup(self.lab.clear)

    def give_back(self, *words, folder=None):
        done = subprocess.run([f"{ROOT}/deploy/slurm/give_back", "--gate", folder or self.lab.gate, *words], text=True,
                              env=self.lab.environment, capture_output=True, timeout=100)
        return done.returncode, done.stderr

    def waiting(self, jobs):
        """[(id, reason, mark)] of what waits; "": it bears none."""
        rows = self.lab.run(f"squeue -h -r -t PD -j {jobs} -O jobarrayid:30,reason:30,admin_comment:200").splitlines()
        return sorted((*row[:60].split(), row[60:].strip()) for row in rows)

    def is_slurms(self, jobs):
        for one, why, mark in self.waiting(jobs):
            self.assertEqual(mark, "", one)
            self.assertNotIn("Held", why, one)

    def test_a_comment_is_no_line_of_the_list(self):
        stays = self.lab.sbatch("-p", "open", *KEPT)
        self.lab.run(f"scontrol hold {stays}")
        forged = f"\n{stays} {stays} {MARK}\n" + f"{stays}".ljust(64) + MARK.ljust(256)
        theirs = self.lab.sbatch(*KEPT, f"--comment=one{forged}")
        self.assertEqual(self.give_back("main"), (0, ""))
        self.is_slurms(theirs)
        self.assertEqual(self.waiting(stays)[0][1], "JobHeldAdmin")
        self.assertIn("one\n", self.lab.run(f"squeue -h -j {theirs} -o %k"))

    def test_the_words_of_ours_go_and_lines_of_theirs_stay(self):
        job = self.lab.sbatch(*KEPT)
        self.lab.run(["scontrol", "update", f"JobId={job}", "Comment=run\n7 | dovetail: no room"])
        self.assertEqual(self.give_back("main"), (0, ""))
        self.assertEqual(self.lab.run(f"squeue -h -j {job} -o %k"), "run\n7\n")

    def test_arrays_of_any_shape(self):
        sparse = ",".join(str(100 + i * i) for i in range(17))
        jobs = [self.lab.sbatch(*KEPT, f"--array={shape}") for shape in ("0-5%2", "0-8:2", sparse)]
        self.lab.run(f"scontrol update JobId={jobs[0]}_3 AdminComment='{MARK} run=1.1 restarts=0'")  # the adapter took it out
        self.assertEqual(self.give_back("main"), (0, ""))
        for job, tasks in zip(jobs, (6, 5, 17)):
            self.assertEqual(len(self.waiting(job)), tasks)
            self.is_slurms(job)
        self.assertEqual(self.lab.fields(f"{jobs[0]}_0")["ArrayTaskThrottle"], "2")

    def test_one_that_fails_keeps_no_other_waiting_and_is_tried_again(self):
        bad, good = self.lab.sbatch(*KEPT), self.lab.sbatch(*KEPT)
        self.lab.run(f"scontrol update JobId={bad} AdminComment='{MARK} run=1.1 restarts=0 nodes=nowhere'")
        code, said = self.give_back("main")
        self.assertEqual(code, 1)
        self.assertIn(f"job {bad} was not given back", said)
        self.is_slurms(good)
        self.assertTrue(self.waiting(bad)[0][2].startswith(MARK))
        self.lab.run(f"scontrol update JobId={bad} AdminComment='{MARK} run=1.1 restarts=0 nodes=-'")
        self.assertEqual(self.give_back("main"), (0, ""))
        self.is_slurms(bad)

    def test_a_release_that_failed_is_tried_again(self):
        """As if Slurm had been lost between the two."""
        free, held = self.lab.sbatch(*KEPT), self.lab.sbatch(*KEPT)
        self.lab.run(f"scontrol update JobId={free} AdminComment=dovetail-given-back")
        self.lab.run(f"scontrol update JobId={held} AdminComment='dovetail-given-back user_hold'")
        self.assertEqual(self.give_back("main"), (0, ""))
        self.is_slurms(free)
        self.assertEqual(self.waiting(held), [(str(held), "JobHeldUser", "")])

    def test_one_that_starts_at_once_starts_once(self):
        """The prolog does not put it back while it still bears a mark."""
        job = self.lab.sbatch()
        self.assertEqual(self.give_back("main"), (0, ""))
        self.lab.until(f"squeue -h -t all -j {job} -o %T", lambda out: out.strip() == "RUNNING")
        self.assertEqual((self.lab.fields(job)["Restarts"], self.lab.mark(job)), ("0", ""))

    def test_what_its_user_said_while_the_adapter_was_away(self):
        held, freed, array = self.lab.sbatch(*KEPT), self.lab.sbatch(*KEPT, "--hold"), self.lab.sbatch(*KEPT, "--array=0-1")
        for word, job in ("hold", held), ("release", freed), ("hold", array):
            self.assertEqual(self.lab.as_user("scontrol", word, str(job)), (0, ""))
        self.assertEqual(self.give_back("main"), (0, ""))
        self.is_slurms(freed)
        for job in held, array:
            self.assertEqual({row[1:] for row in self.waiting(job)}, {("JobHeldUser", "")})
            self.assertEqual(self.lab.as_user("scontrol", "release", str(job)), (0, ""))
            self.is_slurms(job)

    def test_a_model_that_slurm_would_not_heed(self):
        job, plain = self.lab.sbatch(*KEPT, "--gres=gpu:h200:1"), self.lab.sbatch(*KEPT, "--gres=gpu:1")
        code, said = self.give_back("main")
        self.assertEqual(code, 1)
        self.assertIn(f"job {job} stays at the gate: its user asked for the model h200", said)
        self.is_slurms(plain)
        self.assertEqual((self.waiting(job)[0][2], self.lab.fields(job)["Priority"]), (f"{MARK} model=h200", "0"))
        self.assertEqual(self.give_back("--any-model", "main"), (0, ""))
        self.is_slurms(job)

    def test_a_mark_of_any_length(self):
        job = self.lab.sbatch(*KEPT)
        self.lab.run(f"scontrol update JobId={job} NodeList=n0 AdminComment='{MARK} seen {'x' * 300} user_hold nodes=-'")
        self.assertEqual(self.give_back("main"), (0, ""))
        self.assertEqual((self.waiting(job)[0][1], self.lab.fields(job)["ReqNodeList"]), ("JobHeldUser", "(null)"))

    def test_a_slurm_that_does_not_answer_and_a_folder_that_is_not_there(self):
        self.assertEqual(self.give_back("main", folder=self.lab.folder + "/none")[0], 2)
        self.lab.environment["SLURM_CONF"] += ".none"
        try:
            self.assertEqual(self.give_back("main")[0], 1)
        finally:
            self.lab.environment["SLURM_CONF"] = self.lab.folder + "/slurm.conf"


if __name__ == "__main__":
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
