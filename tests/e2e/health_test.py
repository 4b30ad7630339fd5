#!/usr/bin/env python3
"""A fault that an agent finds closes its node, is repaired by the operator's program, tested, and is over."""
import json
import os
import stat
import sys

from cluster import Cluster, until


def program(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def state_is(cluster, state):
    return lambda: cluster.api.call("GET", "/v1/nodes/node1")["state"] == state


def main():
    with Cluster(nodes=0) as cluster:
        hooks = os.path.join(cluster.folder, "hooks")
        faults = os.path.join(cluster.folder, "faults")
        repaired = os.path.join(cluster.folder, "repaired")
        os.mkdir(hooks)
        program(hooks + "/reset", f"#!/bin/sh\nrm -f {faults}\nsleep 0.5\necho \"$1\" > {repaired}\n")
        cluster.agent_options = ["--hooks", hooks, "--faults", faults]
        cluster.gpus = 2
        cluster.names = ["node1"]
        cluster.start_agent("node1")
        cluster.wait_connected()

        with open(faults + ".new", "w") as file:
            json.dump([{"check": "xid_48", "severity": "fault", "remedy": "reset", "evidence": "XID 48"}], file)
        os.rename(faults + ".new", faults)
        until(lambda: os.path.exists(repaired), 20, "the hook to run")
        until(state_is(cluster, "ready"), 60, "the node to be back")
        with open(repaired) as file:
            assert file.read() == "node1\n"
        moves = [event for event in cluster.run("events", "-o", "json").stdout.splitlines() if "MoveNode" in event]
        assert len(moves) >= 4, moves

        # One device alone: the other one goes on, and why says what is missing.
        cluster.api.call("POST", "/v1/nodes/node1/findings",
                         {"check": "row_remap", "severity": "fault", "device": 0, "evidence": "rows"})
        one = cluster.submit({"name": "one", "command": ["true"], "gpus": 1})
        assert cluster.wait(one)["state"] == "completed"
        node = cluster.api.call("GET", "/v1/nodes/node1")
        assert node["state"] == "ready" and node["devices"][0]["free_milli"] == 0, node
        assert "row_remap of device 0" in cluster.run("nodes", "node1").stdout

        # A reboot without a hook fails, and ends where people have to look; they take it back.
        cluster.run("node", "reboot", "node1", "--reason", "kernel")
        until(state_is(cluster, "repair"), 20, "the repair")
        until(lambda: cluster.api.call("GET", "/v1/nodes/node1")["remedy"] == "replace", 20, "people's turn")
        cluster.run("node", "resume", "node1")
        until(state_is(cluster, "ready"), 60, "the node to be taken back")


main()
sys.exit(0)
