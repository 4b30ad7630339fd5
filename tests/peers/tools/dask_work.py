"""dask-jobqueue: workers as jobs, added, adapted and taken away; prints what it saw as a line of JSON."""
import json
import subprocess
import sys
import time

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

LIMIT_S = 90


def until(look, what):
    deadline = time.monotonic() + LIMIT_S
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.2)


def jobs():
    return len(subprocess.run(["squeue", "-h", "--me", "-n", "dask-worker", "-o", "%i"], capture_output=True, text=True,
                              check=True).stdout.split())


if __name__ == "__main__":
    cluster = SLURMCluster(cores=1, memory="300MB", walltime="00:05:00", interface="lo", python=sys.executable,
                           log_directory="dask-logs", scheduler_options={"dashboard_address": ":0"})
    client = Client(cluster)
    workers = lambda: len(client.scheduler_info()["workers"])  # noqa: E731
    seen = []
    cluster.scale(jobs=2)
    until(lambda: workers() == 2, "two workers")
    seen.append(sum(client.gather(client.map(lambda x: x * x, range(20)))))
    cluster.scale(jobs=1)
    until(lambda: jobs() == 1 and workers() == 1, "one worker")
    cluster.adapt(minimum=0, maximum=3, interval="500ms", wait_count=2)
    until(lambda: workers() == 0 and jobs() == 0, "no worker while there is no work")
    seen.append(client.gather(client.map(lambda x: time.sleep(0.2) or x + 1, range(12))))
    until(lambda: workers() == 0 and jobs() == 0, "no worker after the work")
    client.close()
    cluster.close()
    print(json.dumps(seen))
