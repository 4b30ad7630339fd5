"""submitit as its users use it: prints what its jobs gave as a line of JSON."""
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


class Interrupted:
    """Saves how often it was started when it is told to stop, and goes on from there."""

    def __init__(self):
        self.starts = 0

    def __call__(self, times):
        self.starts += 1
        print("start", self.starts, flush=True)
        deadline = time.monotonic() + LIMIT_S
        while self.starts <= times and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.starts

    def checkpoint(self, times):
        return DelayedSubmission(self, times)


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


def requeued(executor, times):
    """Interrupted as a cluster does it: it saves its work, asks to be requeued, and goes on."""
    executor.update_parameters(slurm_additional_parameters={"requeue": True})
    job = executor.submit(Interrupted(), int(times))
    for start in range(1, int(times) + 1):
        deadline = time.monotonic() + LIMIT_S
        while f"start {start}\n" not in (job.stdout() or ""):
            assert time.monotonic() < deadline, job.stdout()
            time.sleep(0.1)
        job._interrupt(timeout=False)  # what submitit's own tests call
    return job.result(), settled(job, ("COMPLETED",))


if __name__ == "__main__":
    what = {function.__name__: function for function in (plain, arrays, cancelled, gang, requeued)}
    executor = submitit.AutoExecutor(folder=os.path.join(os.getcwd(), "log_" + sys.argv[1], "%j"),
                                     slurm_max_num_timeout=10_000)
    assert executor.cluster == "slurm", executor.cluster
    executor.update_parameters(timeout_min=5, name=sys.argv[1])
    print(json.dumps(what[sys.argv[1]](executor, *sys.argv[2:])))
