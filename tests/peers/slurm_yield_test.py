#!/usr/bin/env python3
# limit_s: 500
# waits
"""Jobs of ours make room for jobs of higher priority that wait in a real Slurm without a gate: Slurm starts those on what is
left free, and what it does not take up is ours again.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import signal

from shared_nodes import ENDED, GPUS, OBJECTS, SharedNodes, main, until

QUEUES = "kind: Queue\nname: urgent\npriority: 5\n---\n"


class Yield(SharedNodes):
    objects = QUEUES + OBJECTS + "queues: {serving: urgent, lab: default}\nyields_to: [main]\n"

    def theirs(self, *options, account="serving"):
        return int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", "-A", account, "-w", "n0",
                                 f"--gres=gpu:{GPUS}", *options, "--wrap", "sleep 300"]))

    def state(self, job):
        return self.lab.run(f"squeue -h -j {job} -o %T").strip()

    def in_place(self, **more):
        ours = self.submit(GPUS, node="n0", preempt="restart", **more)
        self.started(ours)
        # A first attempt may find Slurm still busy with the job before.
        self.began = self.attempts(ours)
        return ours

    def room(self, job):
        """The job here that stands for Slurm's as long as that waits; else None."""
        for one in self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]:
            if one["state"] not in ENDED and self.cluster.job(one["id"]).get("foreign_job") == str(job):
                return one["id"]
        return None

    def asked(self, job):
        until(lambda: self.room(job) is not None, 30, f"Slurm job {job} to ask for room")
        return self.room(job)

    def gone(self, job):
        until(lambda: self.room(job) is None, 30, f"the job here of Slurm job {job} to end")

    def why(self, job):
        return self.cluster.run("why", str(job)).stdout

    def attempts(self, job):
        return len(self.cluster.job(job)["attempts"])

    def stop_reason(self, job):
        return self.cluster.job(job)["attempts"][self.began - 1].get("stop_reason")

    def test_ours_of_a_lower_level_makes_room_and_runs_again_afterwards(self):
        ours = self.in_place()
        theirs = self.theirs()
        self.running(theirs)
        self.known(theirs, "n0")
        self.assertEqual(self.stop_reason(ours), "preempted")
        until(lambda: f"slurm job {theirs}" in self.why(ours), 20, "the reason")
        self.gone(theirs)
        self.assertEqual(self.attempts(ours), self.began)
        findings = self.cluster.api.call("GET", "/v1/nodes/n0").get("findings", [])
        self.assertEqual([one for one in findings if one["check"] == "foreign"], [])
        self.lab.run(f"scancel {theirs}")
        self.started(ours, 60)

    def test_ours_of_the_same_level_stays(self):
        ours = self.in_place()
        theirs = self.theirs(account="lab")
        room = self.asked(theirs)
        self.assertEqual(self.cluster.job(room)["state"], "waiting")
        self.assertEqual([self.state(theirs), self.cluster.job(ours)["state"]], ["PENDING", "running"])
        self.lab.run(f"scancel {theirs}")
        self.gone(theirs)
        self.assertEqual(self.cluster.job(ours)["state"], "running")

    def test_one_that_is_cancelled_meanwhile_leaves_no_room(self):
        # Ours does not end by SIGTERM: there is time until it is killed.
        ours = self.in_place(command=("sh", "-c", "trap '' TERM; while :; do sleep 1; done"), kill_grace="8s")
        theirs = self.theirs()
        until(lambda: self.stop_reason(ours) == "preempted", 30, "ours to be stopped")
        self.lab.run(f"scancel {theirs}")
        self.gone(theirs)
        until(lambda: self.attempts(ours) > self.began, 60, "ours to start again")
        self.started(ours, 60)

    def test_adapters_that_are_killed_leave_nobody_waiting(self):
        ours = self.in_place()
        self.end_adapter(signal.SIGKILL)
        theirs = self.theirs()
        self.assertEqual(self.state(theirs), "PENDING")
        self.start_adapter()
        self.asked(theirs)
        self.end_adapter(signal.SIGKILL)
        self.start_adapter()
        self.running(theirs)
        self.known(theirs, "n0")
        self.gone(theirs)
        self.assertEqual(self.stop_reason(ours), "preempted")


if __name__ == "__main__":
    main()
