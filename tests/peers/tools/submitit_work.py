"""submitit as its users use it: prints what its jobs gave as a line of JSON.

`requeued` is not yet in tools_test.py: it needs `scontrol requeue` to hear its answer before its job is signalled.
"""
import json
import os
import subprocess
import sys
import time

import submitit
from submitit.helpers import DelayedSubmission

LIMIT_S = 90


def add(a, b):
    return a + b


def fail():
    raise ValueError("on purpose")


def rank():
    environment = submitit.JobEnvironment()
    return environment.global_rank, environment.local_rank, environment.node, environment.num_tasks


class Counting:
    """Saves how far it came when it is told to stop, and goes on from there."""

    def __init__(self):
        self.count = self.starts = 0

    def __call__(self, total):
        self.starts += 1
        print("counting from", self.count, flush=True)
        while self.count < total:
            self.count += 1
            time.sleep(0.5)
        return self.count, self.starts

    def checkpoint(self, total):
        return DelayedSubmission(self, total)


def settled(job, words):
    """The state of `job` once the cluster gives one of `words`."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        state = job.get_info(mode="force").get("State", "UNKNOWN").split()[0]
        if state in words:
            return state
        time.sleep(0.3)
    page = subprocess.run(["scontrol", "show", "job", job.job_id], capture_output=True, text=True)
    raise TimeoutError(f"job {job.job_id} is {state}, not one of {words}: {page.stdout}")


def plain(executor):
    jobs = [executor.submit(add, 5, 7), executor.submit(fail)]
    said = [jobs[0].result(), type(jobs[1].exception()).__name__]
    return said + [settled(job, ("COMPLETED", "FAILED")) for job in jobs] + [job.done() for job in jobs]


def arrays(executor):
    executor.update_parameters(slurm_array_parallelism=2)
    jobs = executor.map_array(add, range(6), range(10, 16))
    with executor.batch():
        batch = [executor.submit(add, i, i) for i in range(3)]
    executor.update_parameters(slurm_array_parallelism=256)
    return [job.result() for job in jobs + batch], [settled(job, ("COMPLETED",)) for job in jobs + batch]


def cancelled(executor):
    job = executor.submit(time.sleep, 300)
    settled(job, ("RUNNING",))
    job.cancel()
    return settled(job, ("CANCELLED", "FAILED", "COMPLETED")), job.done(force_check=True)


def gang(executor):
    executor.update_parameters(nodes=2, tasks_per_node=2)
    return sorted(executor.submit(rank).results())


def requeued(executor):
    """Interrupted as a cluster does it: it saves its work, asks to be requeued, and goes on."""
    executor.update_parameters(slurm_additional_parameters={"requeue": True})
    job = executor.submit(Counting(), 16)
    settled(job, ("RUNNING",))
    deadline = time.monotonic() + LIMIT_S
    while "counting from 0" not in (job.stdout() or ""):
        assert time.monotonic() < deadline, job.stdout()
        time.sleep(0.2)
    job._interrupt(timeout=False)  # what submitit's own tests call
    count, starts = job.result()
    return count, starts, settled(job, ("COMPLETED",))


if __name__ == "__main__":
    what = {function.__name__: function for function in (plain, arrays, cancelled, gang, requeued)}
    executor = submitit.AutoExecutor(folder=os.path.join(os.getcwd(), sys.argv[1]))
    assert executor.cluster == "slurm", executor.cluster
    executor.update_parameters(timeout_min=5, name=sys.argv[1])
    print(json.dumps(what[sys.argv[1]](executor)))
