#!/usr/bin/env python3
# waits
"""What a real Slurm ran while nobody heard of it counts in the shares of a queue: its accounting says what ended, once,
through kills of the adapter and of the controller.

Skips where Slurm with slurmdbd (tools/setup peers, as root) is missing.
"""
import signal
import sys

from shared_nodes import OBJECTS, SKIP, SharedNodes, main, until
from slurm_lab import accounting_available

QUEUE = """\
kind: Queue
name: research
---
"""


class PastUse(SharedNodes):
    lab_options = {"accounting": True}
    objects = QUEUE + OBJECTS + "queues: {root: research}\n"

    def found(self):
        """[use] of all records of what had ended, in their order; and how many records there are."""
        uses, records, after = [], 0, 0
        while page := self.cluster.api.call("GET", f"/v1/events?after={after}")["events"]:
            after = page[-1]["seq"]
            for record in page:
                if record["kind"] == "ForeignUseFound":
                    records += 1
                    uses += record["data"]["uses"]
        return uses, records

    def of(self, job):
        return [use for use in self.found()[0] if use["id"] == str(job)]

    def runs_and_ends(self):
        job = self.sbatch("--gres=gpu:1", "-w", "n1", seconds=2)
        self.lab.until("squeue -h -t R,PD,CG -o %i", lambda out: str(job) not in out.split())
        return job

    def is_counted_once(self, job):
        until(lambda: self.of(job), 90, f"the use of Slurm job {job}")
        [use] = self.of(job)
        self.assertEqual((use["account"], use["cores"], use["gpus_milli"]), ("root", 1, 1000))
        self.assertEqual(use["memory_bytes"], 100 << 20)
        self.assertIn((use["ended_at_us"] - use["started_at_us"]) // 1_000_000, range(1, 10))

    def restart_adapter(self):
        before = self.found()[1]
        self.end_adapter(signal.SIGKILL)
        self.start_adapter()
        until(lambda: self.found()[1] > before, 90, "the time without an adapter to be settled")

    def test_what_ended_while_the_adapter_was_away(self):
        known = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(known)
        self.known(known, "n0")
        self.end_adapter(signal.SIGKILL)
        unseen = self.runs_and_ends()
        self.lab.run(f"scancel {known}")
        self.lab.until("squeue -h -t R,PD,CG -o %i", lambda out: str(known) not in out.split())
        lives = self.sbatch("--gres=gpu:1", "-w", "n1")
        self.running(lives)
        self.start_adapter()
        self.is_counted_once(unseen)
        self.assertEqual(len(self.of(known)), 1, "what was charged beyond its end is given back")
        self.assertIn(str(lives), self.foreign("n1"))
        self.restart_adapter()
        self.is_counted_once(unseen)
        self.assertEqual(len(self.of(known)), 1)
        self.assertEqual(self.of(lives), [], "it runs, and is charged from its start")

    def test_what_ended_while_the_controller_was_away(self):
        until(lambda: self.cluster.api.call("GET", "/v1/nodes/n0")["executors"][0]["contact"] == "answering", 20,
              "the adapter")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.api.close()
        unseen = self.runs_and_ends()
        self.cluster.start_server()
        self.is_counted_once(unseen)
        self.restart_adapter()
        self.is_counted_once(unseen)


if __name__ == "__main__":
    if not accounting_available():
        print("no Slurm with accounting here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    main()
