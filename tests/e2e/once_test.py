#!/usr/bin/env python3
"""A script of several commands, killed in the middle, goes on at the one that had not finished."""
import os
import signal
import subprocess
import sys
import tempfile

from cluster import ROOT, Cluster

SCRIPT = """#!/bin/bash
set -e
step() {{ python3 -m dove.once "$@"; }}
step prepare -- sh -c 'echo prepare >> {log}'
step train -- sh -c 'echo train >> {log}; [ $DOVE_RESTART_COUNT -gt 0 ] || kill -9 $PPID $$'
step evaluate -- sh -c 'echo evaluate >> {log}'
"""


def alone(folder, *arguments, **options):
    """python3 -m dove.once outside of a cluster."""
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "DOVE_CHECKPOINT_DIR": folder}
    environment.update(options.pop("environment", {}))
    return subprocess.Popen([sys.executable, "-m", "dove.once", *arguments], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def ends(folder, *arguments, **options):
    process = alone(folder, *arguments, **options)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def try_alone():
    with tempfile.TemporaryDirectory() as folder:
        assert ends(folder, "a", "--", "echo", "1") == (0, "1\n", "")
        code, out, err = ends(folder, "a", "--", "echo", "1")
        assert (code, out) == (0, "") and "has finished before" in err, (code, out, err)
        assert ends(folder, "a", "--", "echo", "2")[1] == "2\n", "another command"
        assert ends(folder, "b", "--", "sh", "-c", "exit 3")[0] == 3
        assert ends(folder, "b", "--", "sh", "-c", "exit 3")[0] == 3, "it had not ended well"
        gang = {"WORLD_SIZE": "2"}
        for rank in "01":
            assert ends(folder, "c", "--", "echo", "c", environment={**gang, "RANK": rank})[1] == "c\n"
        assert ends(folder, "d", "--", "sh", "-c", "kill -9 $$")[0] == -signal.SIGKILL
        assert ends(folder, "e", "--", "/none/such")[0] == 127
        assert ends(folder, "../f", "--", "true")[0] == 2 and ends(folder, "f", "true")[0] == 2
        assert "nothing is remembered" in ends("", "g", "--", "true")[2]
        process = alone(folder, "h", "--", "sh", "-c", "trap 'echo asked; exit 5' USR1; echo on; while :; do sleep 0.01; done")
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=20)[0] == "asked\n" and process.returncode == 5
        full = os.path.join(folder, "once", "a")  # no directory
        code, _, err = ends(full, "i", "--", "true")
        assert code == 0 and "will run again" in err, (code, err)


def main():
    try_alone()
    with Cluster(nodes=1, cores=2) as cluster:
        log = os.path.join(cluster.folder, "log")
        script = os.path.join(cluster.folder, "steps.sh")
        with open(script, "w") as file:
            file.write(SCRIPT.format(log=log))
        job = cluster.submit({"name": "steps", "command": ["/bin/bash", script], "retries_max": 3})
        done = cluster.wait(job, 60)
        assert done["state"] == "completed", done
        with open(log) as file:
            assert file.read().split() == ["prepare", "train", "train", "evaluate"], log


main()
