#!/usr/bin/env python3
# limit_s: 500
# waits
"""Jobs of a real Slurm that no gate holds make room for ours of higher priority: Slurm ends them as it ends jobs, its next
job does not get what they leave, and they run again.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import os
import re
import signal
import time

from shared_nodes import GPUS, LISTENS, OBJECTS, SharedNodes, SlurmLab, main, until


class Lab(SlurmLab):
    cred_expire_s = 5  # a requeued job waits for that long


class Preempt(SharedNodes):
    lab_class = Lab
    objects = OBJECTS + "queues: {lab: default}\npreempts: [main]\n"

    def theirs(self, *options, script="sleep 300"):
        return int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", "-A", "lab", "-w", "n0",
                                 f"--gres=gpu:{GPUS}", *options, "--wrap", script]))

    def in_place(self, job):
        self.running(job)
        self.known(job, "n0")

    def state(self, job):
        return self.lab.run(f"squeue -h -j {job} -o %T").strip()

    def fences(self):
        return self.lab.run("squeue -h -o %j").count("dove-keep-")

    def fence_jobs(self):
        return sorted(re.findall(r"^(\d+) dove-keep-", self.lab.run("squeue -h -o '%i %j'"), re.M))

    def says(self, path, words):
        def said():
            with open(path) as file:
                return file.read().split("\n")[:-1] == words
        until(said, 60, f"{words} in {path}")

    def test_one_is_put_back_after_slurms_grace_and_the_next_in_slurms_queue_does_not_get_what_it_leaves(self):
        path = os.path.join(self.lab.folder, "saved")
        with open(path, "w"):
            os.chmod(path, 0o666)
        theirs = self.theirs("--requeue", script=f"trap 'echo saved >>{path}; exit 0' TERM; "
                             f"echo begun ${{SLURM_RESTART_COUNT:-0}} >>{path}; {LISTENS}")
        self.in_place(theirs)
        self.says(path, ["begun 0"])
        behind = [self.theirs("--requeue"), self.theirs("--requeue", "--gres=gpu:1")]
        ours = self.submit(2, node="n0", priority=5)
        held = self.started(ours, 60)
        self.says(path, ["begun 0", "saved"])
        self.assertEqual(len(held), 2)
        self.assertEqual(self.state(theirs), "PENDING")
        fields = self.lab.run(f"scontrol show job {theirs}")
        self.assertIn(f"AdminComment=put back by dovetail@dove for its job {ours} of higher priority", fields)
        self.assertNotIn("JobHeld", fields)
        self.assertEqual(self.state(behind[0]), "PENDING")
        self.cluster.run("cancel", str(ours))
        self.lab.run(f"scancel {behind[0]} {behind[1]}")
        self.running(theirs)
        self.says(path, ["begun 0", "saved", "begun 1"])
        until(lambda: self.fences() == 0, 20, "no fences")

    def test_the_fences_that_waited_stay_for_as_long_as_ours_runs(self):
        """Slurm ends an allocation that no salloc answers for ten seconds after its start. What is ending keeps them waiting."""
        theirs = self.theirs("--requeue", script=f"trap 'sleep 2; exit 0' TERM; {LISTENS}")
        self.in_place(theirs)
        ours = self.submit(2, node="n0", priority=5)
        self.started(ours, 60)
        first = self.fence_jobs()
        self.assertEqual(len(first), 2)
        began = time.time()
        until(lambda: time.time() - began > 15 or self.fence_jobs() != first, 30, "15 s")
        self.assertEqual(self.fence_jobs(), first)
        self.cluster.run("cancel", str(ours))
        self.running(theirs)
        until(lambda: self.fences() == 0, 20, "no fences")

    def test_one_gets_the_signal_that_its_user_wants_and_the_time_after_it(self):
        path = os.path.join(self.lab.folder, "signalled")
        with open(path, "w"):
            os.chmod(path, 0o666)
        script = os.path.join(self.lab.folder, "signalled.sh")
        with open(script, "w") as file:
            file.write(f"#!/bin/bash\n#SBATCH --signal=B:USR1@5\ntrap 'echo usr1 >>{path}' USR1\n"
                       f"trap 'echo term >>{path}; exit 0' TERM\necho begun >>{path}\n{LISTENS}\n")
        theirs = int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", "-A", "lab", "-w",
                                   "n0", f"--gres=gpu:{GPUS}", "--requeue", script]))
        self.in_place(theirs)
        self.says(path, ["begun"])
        ours = self.submit(1, node="n0", priority=5)
        self.says(path, ["begun", "usr1"])
        self.assertEqual(self.state(theirs), "RUNNING")
        self.lab.until(f"scontrol show job {theirs}", lambda out: re.search(r"AdminComment=put back by dovetail@.* at \d+", out))
        self.started(ours, 60)
        self.says(path, ["begun", "usr1", "term"])
        self.assertEqual(self.state(theirs), "PENDING")
        with open(self.lab.folder + "/log/adapter") as log:
            self.assertIn("foreign_job_warned", log.read())

    def test_one_that_cannot_run_again_or_is_as_high_stays(self):
        theirs = self.theirs("--no-requeue")
        self.in_place(theirs)
        ours = self.submit(1, node="n0", priority=5)
        until(lambda: str(theirs) in self.cluster.run("why", str(ours)).stdout, 20, "the reason")
        self.cluster.run("cancel", str(ours))
        self.lab.run(f"scancel {theirs}")
        equal = self.theirs("--requeue")
        self.in_place(equal)
        ours = self.submit(1, node="n0")
        until(lambda: str(equal) in self.cluster.run("why", str(ours)).stdout, 20, "the reason")
        self.assertEqual([self.state(equal), self.fences()], ["RUNNING", 0])
        self.cluster.run("apply", "-f", "-", input="kind: Queue\nname: urgent\npriority: 1\n")
        urgent = self.submit(1, node="n0", queue="urgent")
        self.started(urgent, 60)
        self.assertEqual(self.state(equal), "PENDING")

    def test_one_that_has_just_begun_again_gets_on_first(self):
        theirs = self.theirs("--requeue")
        self.in_place(theirs)
        self.lab.run(f"scontrol requeue {theirs}")
        self.lab.until(f"squeue -h -j {theirs} -O restartcnt,state", lambda out: out.split() == ["1", "RUNNING"])
        began = time.time()
        self.known(theirs, "n0")
        ours = self.submit(1, node="n0", priority=5)
        until(lambda: str(theirs) in self.cluster.run("why", str(ours)).stdout, 20, "the reason")
        self.assertEqual([self.state(theirs), self.fences()], ["RUNNING", 0])
        self.started(ours, 120)
        self.assertGreater(time.time() - began, 55)

    def test_an_adapter_that_is_killed_leaves_nobody_held(self):
        theirs = self.theirs("--requeue")
        self.in_place(theirs)
        ours = self.submit(GPUS, node="n0", priority=5)
        until(lambda: self.fences() > 0, 30, "a fence to wait")
        self.end_adapter(signal.SIGKILL)
        self.start_adapter()
        self.started(ours, 60)
        self.end_adapter(signal.SIGKILL)
        self.cluster.run("cancel", str(ours))
        self.assertNotIn("JobHeld", self.lab.run(f"scontrol show job {theirs}"))
        self.start_adapter()
        self.running(theirs)
        until(lambda: self.fences() == 0, 20, "no fences")

    def test_a_job_that_is_cancelled_meanwhile_leaves_no_fence(self):
        # It does not end by SIGTERM.
        theirs = self.theirs("--requeue", script="trap '' TERM; sleep 300; sleep 300")
        self.in_place(theirs)
        ours = self.submit(1, node="n0", priority=5)
        until(lambda: self.fences() > 0, 30, "a fence to wait")
        self.cluster.run("cancel", str(ours))
        until(lambda: self.fences() == 0, 20, "no fences")


if __name__ == "__main__":
    main()
