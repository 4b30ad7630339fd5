"""parsl: one block of two nodes by SlurmProvider, started with srun; prints what its apps gave as a line of JSON."""
import json
import os
import sys

import parsl
from parsl import bash_app, python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@python_app
def square(x):
    import os
    import time
    time.sleep(0.5)
    return x * x, os.environ["SLURM_NNODES"], os.environ["SLURM_NODEID"]


@bash_app
def fail():
    return "exit 3"


if __name__ == "__main__":
    provider = SlurmProvider(nodes_per_block=2, cores_per_node=2, init_blocks=1, max_blocks=1, walltime="00:05:00",
                             launcher=SrunLauncher(), exclusive=False,
                             worker_init=f"export PATH={os.path.dirname(sys.executable)}:$PATH")
    executor = HighThroughputExecutor(label="block", address="127.0.0.1", loopback_address="127.0.0.1",
                                      max_workers_per_node=2, provider=provider)
    parsl.load(Config(run_dir="parsl", executors=[executor], strategy="none"))
    given = [app.result() for app in [square(i) for i in range(12)]]
    failed = type(fail().exception()).__name__
    block = next(iter(executor.blocks_to_job_id.values()))
    parsl.dfk().cleanup()
    print(json.dumps({"squares": [value for value, _, _ in given], "nodes": sorted({node for _, _, node in given}),
                      "counts": sorted({count for _, count, _ in given}), "failed": failed, "block": bool(block)}))
