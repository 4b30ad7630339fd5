#!/usr/bin/env python3
# limit_s: 600
# waits
"""Slurm 24.11, which Debian 13 ships, under what matters most of the suites that run against Debian 12's 22.05: the gate, devices
side by side, jobs of ours in Slurm, slurmrestd's newest version; and what decision 26 says of this release.

Skips where it is not there (`tools/peer_tools slurm` unpacks it; tools/setup peers, as root).
"""
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLURM = os.environ.setdefault("SLURM_ROOT", os.path.join(ROOT, "build/peer-slurm"))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
# They read SLURM_ROOT.
import slurm_backend_test  # noqa: E402
import slurm_conformance_test  # noqa: E402
import slurm_gate_lua_test  # noqa: E402
import slurm_gate_test  # noqa: E402
import slurm_rest_test  # noqa: E402
import slurm_side_by_side_test  # noqa: E402
from cluster import SKIP  # noqa: E402
from slurm_lab import SlurmLab, accounting_available, available, plugin  # noqa: E402


def some_of(base, *names):
    """The suite `base` with these tests alone."""
    others = {name: None for name in dir(base) if name.startswith("test_") and name not in names}
    missing = [name for name in names if not hasattr(base, name)]
    assert not missing, missing
    return type(base.__name__, (base,), others)


SideBySide = some_of(
    slurm_side_by_side_test.SideBySide, "test_our_job_is_held_in_slurm_by_its_own_devices",
    "test_t19_what_slurm_holds_is_not_given_and_order_plays_no_part", "test_drains_cross_over_both_ways_and_each_side_opens_only_its_own")
Backend = some_of(
    slurm_backend_test.Backend, "test_a_lone_sigterm_leaves_the_other_nodes_of_a_script_held",
    "test_two_tasks_on_two_nodes_on_the_devices_that_were_chosen",
    "test_a_script_starts_steps_on_all_its_nodes",
    "test_exit_codes_and_output_that_is_its_users", "test_three_users_are_accounted_as_themselves")
GateLua = some_of(
    slurm_gate_lua_test.Gate, "test_the_model_goes_from_the_request_to_the_mark", "test_no_user_gets_past_it",
    "test_what_slips_past_is_put_back_by_the_prolog", "test_one_that_slurm_gave_other_gpus_is_put_back_before_it_runs")
Gate = some_of(
    slurm_gate_test.Gate, "test_a_job_starts_in_the_place_that_the_ledger_gave_and_ends", "test_t19_out_of_order",
    "test_cpus_and_memory_by_gpu_are_those_that_slurm_gives")
Rest = some_of(slurm_rest_test.Changes, "test_a_placeholder_is_extended_and_given_back_without_a_command")


class Release(unittest.TestCase):
    """What this release does otherwise than 22.05."""

    @classmethod
    def setUpClass(cls):
        cls.lab = SlurmLab(nodes=1, cpus=8, gpus=4).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)

    def test_it_is_that_release_and_does_what_any_slurm_must(self):
        self.assertRegex(self.lab.run("sinfo --version"), r"^slurm\S* 24\.11\.")
        self.assertRegex(self.lab.run("scontrol show node n0"), r"Version=24\.11\.")
        self.assertEqual(slurm_conformance_test.main(), 0)

    def held(self, *options):
        return self.lab.run(["sbatch", "--parsable", "--hold", "-o", "/dev/null", "--mem=10", *options, "--wrap", "sleep 300"]).strip()

    def indices(self, job):
        self.lab.run(["scontrol", "release", job])
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "RUNNING")
        said = self.lab.run(f"scontrol show job -d {job}")
        self.lab.run(["scancel", job])
        self.lab.until("squeue -h", lambda out: not out.strip())
        return sorted(int(i) for i in re.findall(r"\(IDX:(\d+)\)", said))

    def test_another_request_of_a_held_job_takes_the_place_of_the_first(self):
        """22.05 shows it and gives others. Not where the job asked by --gpus: that request cannot be changed."""
        for first, then, given in (("--gres=gpu:1", "gpu:h200_3:1", [3]), ("--gres=gpu:h200_1:1", "gpu:h200_2:1", [2]),
                                   ("--gres=gpu:2", "gpu:h200_1:1,gpu:h200_3:1", [1, 3])):
            job = self.held(first)
            self.lab.run(["scontrol", "update", f"JobId={job}", f"Gres={then}"])
            self.assertEqual(self.indices(job), given, first)
        job = self.held("--gpus=1")
        with self.assertRaisesRegex(RuntimeError, "Invalid GRES specification"):
            self.lab.run(["scontrol", "update", f"JobId={job}", "Gres=gpu:h200_3:1"])
        self.assertEqual(self.indices(job), [0])

    def test_salloc_makes_no_allocation_for_another_user(self):
        said = subprocess.run(["salloc", "--no-shell", "--immediate=1", "--uid=nobody", "-n1"], env=self.lab.environment, text=True,
                              capture_output=True, timeout=60)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("unrecognized option '--uid=nobody'", said.stderr)


def main():
    if not available() or not accounting_available() or plugin("job_submit_lua") is None:
        print(f"no Slurm in {SLURM}: tools/peer_tools slurm unpacks it (as root, with a Debian mirror)")
        sys.exit(SKIP)
    began = time.monotonic()
    done = unittest.main(exit=False, verbosity=2)
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(not done.result.wasSuccessful())


if __name__ == "__main__":
    main()
