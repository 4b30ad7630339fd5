#!/usr/bin/env python3
"""With preflight a gang starts only where its nodes pass; else it runs elsewhere, first in the queue, uncounted."""
import json
import os
import stat
import sys

from cluster import Cluster, until


def program(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.chmod(path + ".new", os.stat(path + ".new").st_mode | stat.S_IXUSR)
    os.rename(path + ".new", path)


def main():
    with Cluster(nodes=0, gpus=2, cores=4) as cluster:
        programs = os.path.join(cluster.folder, "preflight")
        os.mkdir(programs)
        bad = os.path.join(cluster.folder, "bad")
        program(programs + "/gpu", f'#!/bin/sh\nif [ "$(cat {bad})" = "$1" ]; then echo "gpu $2 is wrong"; exit 2; fi\n')
        with open(bad, "w") as file:
            file.write("nobody")
        cluster.agent_options = ["--preflight", programs, "--preflight-limit-s", "10"]
        for name in ("node1", "node2", "node3"):  # one after the other: the first is taken first
            cluster.names.append(name)
            cluster.start_agent(name)
            cluster.wait_connected()
        cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"kind": "Cluster", "name": "cluster", "preflight": True})

        # All is well: the ring sums up between three nodes, then the tasks start.
        gang = cluster.submit({"name": "well", "nodes": 3, "tasks": 3, "command": ["true"], "gpus": 2})
        assert cluster.wait(gang, 60)["state"] == "completed"
        assert len(cluster.job(gang)["attempts"]) == 1

        with open(bad, "w") as file:
            file.write("node1")
        gang = cluster.submit({"name": "bad", "nodes": 2, "tasks": 2, "command": ["sh", "-c", "echo $DOVE_NODE"],
                               "gpus": 2})
        ended = cluster.wait(gang, 90)
        assert ended["state"] == "completed", ended
        assert ended["retries_used"] == 0 and "node1" in ended["nodes_avoided"], ended
        assert [attempt["stop_reason"] for attempt in ended["attempts"]][0] == "preflight", ended["attempts"]
        assert sorted(ended["attempts"][-1]["nodes"]) == ["node2", "node3"], ended["attempts"]
        failed = [json.loads(line) for line in
                  cluster.run("events", "-k", "PreflightFailed", "-o", "json").stdout.splitlines()]
        assert len(failed) == 1 and "gpu 0,1 is wrong" in json.dumps(failed), failed
        moves = cluster.run("events", "-k", "MoveNode", "-o", "json").stdout
        assert "gpu 0,1 is wrong" in moves and "suspect" in moves, moves
        until(lambda: cluster.api.call("GET", "/v1/nodes/node1")["state"] == "ready", 60, "the node to be tested")

        # A pool that wants none of it is not asked what the cluster wants.
        cluster.api.call("PUT", "/v1/objects/pool/quick", {"nodes": ["node1"], "preflight": False})
        quick = cluster.submit({"name": "quick", "pool": "quick", "command": ["true"], "gpus": 2})
        assert cluster.wait(quick, 60)["state"] == "completed"
        assert len(cluster.job(quick)["attempts"]) == 1
        # And one that wants it gets it where the cluster wants nothing.
        cluster.api.call("PUT", "/v1/objects/cluster/cluster", {"preflight": False})
        cluster.api.call("PUT", "/v1/objects/pool/careful", {"nodes": ["node1"], "preflight": True})
        careful = cluster.submit({"name": "careful", "pool": "careful", "command": ["true"], "gpus": 2})
        until(lambda: [attempt["stop_reason"] for attempt in cluster.job(careful)["attempts"]][:1] == ["preflight"], 60,
              "the pool's own preflight")
        cluster.run("cancel", str(careful))


main()
sys.exit(0)
