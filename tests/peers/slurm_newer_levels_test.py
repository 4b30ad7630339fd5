#!/usr/bin/env python3
# limit_s: 600
# waits
"""Slurm 24.11, which Debian 13 ships, under the suites about who makes room for whom, what is lent, what was used unseen and what is
killed meanwhile: the tests whose commands, states or accounting could differ from those of Debian 12's 22.05.

Skips where it is not there (`tools/peer_tools slurm` unpacks it; tools/setup peers, as root).
"""
from slurm_newer_test import main, some_of  # says where that Slurm is, before the others ask

import slurm_killed_test
import slurm_lent_test
import slurm_past_use_test
import slurm_preempt_test
import slurm_scale_up_test
import slurm_yield_test

PastUse = some_of(slurm_past_use_test.PastUse, "test_what_ended_while_the_adapter_was_away")
Preempt = some_of(
    slurm_preempt_test.Preempt, "test_one_gets_the_signal_that_its_user_wants_and_the_time_after_it",
    "test_one_is_put_back_after_slurms_grace_and_the_next_in_slurms_queue_does_not_get_what_it_leaves")
ScaleUp = some_of(slurm_scale_up_test.ScaleUp, "test_the_lowest_is_slurms")
Yield = some_of(slurm_yield_test.Yield, "test_ours_of_a_lower_level_makes_room_and_runs_again_afterwards")
Lent = some_of(
    slurm_lent_test.Lent, "test_slurms_users_get_what_is_lent_and_no_more", "test_fences_leave_slurms_users_every_core")
Killed = some_of(slurm_killed_test.Killed, "test_while_one_outside_the_gate_is_put_back")

if __name__ == "__main__":
    main()
