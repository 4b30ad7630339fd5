#!/usr/bin/env python3
"""Preemption with real processes: a job is told by a signal to save its work, makes way for a more urgent one, and
goes on where it was."""
import os
import unittest

from cluster import Cluster, DOVE, until

# Counts steps; on USR1 it writes down how far it is and says so, then waits to be ended.
TRAINER = """
mkdir -p "$DOVE_CHECKPOINT_DIR"
step=0
[ -e "$DOVE_CHECKPOINT_DIR/step" ] && step=$(cat "$DOVE_CHECKPOINT_DIR/step")
save() {
  echo $step > "$DOVE_CHECKPOINT_DIR/step"
  dove checkpoint
  exit 0
}
trap save USR1
echo "restart $DOVE_RESTART_COUNT from $step"
while [ $step -lt 60 ]; do
  step=$((step + 1))
  echo $step
  sleep 0.1
done
"""


class Preemption(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=1, cores=4,
                              server_options=["--fence-s", "1", "--heartbeat-ms", "200"]).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def shell(self, script, **more):
        return self.cluster.submit({"name": "shell", "command": ["bash", "-c", script], "gpus": 1, **more})

    def test_a_trainer_makes_way_and_goes_on(self):
        program = os.path.dirname(DOVE)
        trainer = self.shell(f"PATH={program}:$PATH\n" + TRAINER, preempt="checkpoint", checkpoint_signal=10,
                             checkpoint_grace_s=20)
        self.cluster.wait_state(trainer, "running")
        until(lambda: "\n5\n" in self.cluster.logs(trainer), 20, "the trainer's fifth step")
        urgent = self.shell("echo urgent", priority=10)
        self.assertEqual(self.cluster.wait(urgent)["state"], "completed")
        done = self.cluster.wait(trainer, limit_s=60)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 2), done)
        lines = self.cluster.logs(trainer).split("\n")
        self.assertTrue(lines[0].startswith("restart 1 from "), lines[:3])
        first = int(lines[0].rsplit(" ", 1)[1])
        self.assertGreaterEqual(first, 5)
        self.assertEqual(int(lines[1]), first + 1, "no step was lost or done twice")

    def test_without_a_signal_it_is_ended_and_starts_over(self):
        first = self.shell("sleep 2", preempt="restart", kill_grace_s=1)
        self.cluster.wait_state(first, "running")
        urgent = self.shell("true", priority=10)
        self.assertEqual(self.cluster.wait(urgent)["state"], "completed")
        done = self.cluster.wait(first)
        self.assertEqual((done["state"], len(done["attempts"])), ("completed", 2))
        self.assertEqual(done["attempts"][0]["stop_reason"], "preempted")


if __name__ == "__main__":
    unittest.main()
