#!/usr/bin/env python3
"""A container whose image has a Python and nothing of Dovetail finds the package `dove`: its steps and checkpoints are known.

Needs root and an OCI runtime.
"""
import os
import shutil
import sys
import tempfile

from cluster import SKIP, Cluster, make_bare_image, until

TASK = """
import os, sys, time
import image_has, job_has
import dove
from dove import checkpoint, progress
try:
    open(dove.__path__[0] + "/changed", "w")
    sys.exit("the package can be changed")
except OSError:
    pass
checkpoint.save(7, lambda file: file.write(b"whole"))
checkpoint.wait()
print("saved", checkpoint.latest().step, flush=True)
progress.step(7, seconds=0.25, loss=0.5, phase="train")
time.sleep(600)
"""


def make_image(path):
    """The machine's own Python, and modules of the image's."""
    make_bare_image(path, "etc/fonts", "opt/lib")
    with open(path + "/opt/lib/job_has.py", "w"):
        pass
    with open(path + "/tmp/image_has.py", "w"):
        pass


def main():
    if os.geteuid() != 0 or not (shutil.which("runc") or shutil.which("crun")):
        print("skipped: containers need root and an OCI runtime (tools/setup test)")
        return SKIP
    folder = tempfile.mkdtemp(prefix="dove-container-python.")
    os.chmod(folder, 0o755)
    make_image(folder + "/images/python")
    try:
        with Cluster(cores=4, agent_options=["--images", folder + "/images", "--volume-roots", "/usr"]) as cluster:
            job = cluster.submit({"name": "steps", "command": ["/usr/bin/python3", "-c", TASK],
                                  "environment": {"PYTHONPATH": "/opt/lib:/tmp"},
                                  "container": {"image": "python", "volumes": [{"source": "/usr"}]}})

            def progress():
                found = cluster.job(job)
                assert not found["ended_at"], (found["state"], cluster.logs(job))
                return found["progress"] if found.get("progress") else None

            said = until(progress, 30, "the step to be told")
            assert said["step"] == 7 and said["loss"] == 0.5 and said["phase"] == "train", said
            assert "saved 7" in cluster.logs(job), cluster.logs(job)
            done = cluster.run("exec", str(job), "--", "/usr/bin/python3", "-c", "import dove; print(dove.__path__)")
            assert ".dove-python" in done.stdout, done
            cluster.run("cancel", str(job))
            cluster.wait(job)
    finally:
        shutil.rmtree(folder)
    return 0


sys.exit(main())
