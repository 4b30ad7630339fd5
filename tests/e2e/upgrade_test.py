#!/usr/bin/env python3
"""Agents are upgraded under running tasks, some at a time: none is restarted, and every node is back."""
import json
import os
import stat
import sys

from cluster import Cluster, until

NODES = int(os.environ.get("NODES", "20"))
FENCE_S = os.environ.get("FENCE_S", "5")  # how long a restart may take; the default of dove server
AT_ONCE = 5


def pid_of(cluster, job):
    return cluster.logs(job).split()


def main():
    with Cluster(nodes=0, cores=1, server_options=["--fence-s", FENCE_S]) as cluster:
        hooks, asked = os.path.join(cluster.folder, "hooks"), os.path.join(cluster.folder, "asked")
        os.mkdir(hooks)
        os.mkdir(asked)
        with open(hooks + "/agent", "w") as file:
            file.write(f"#!/bin/sh\nsleep 1\ntouch {asked}/$1\n")
        os.chmod(hooks + "/agent", stat.S_IRWXU)
        cluster.agent_options = ["--hooks", hooks]
        cluster.names = [f"node{i + 1}" for i in range(NODES)]
        for name in cluster.names:
            cluster.start_agent(name)
        cluster.wait_connected(90)
        cluster.api.call("PUT", "/v1/objects/cluster/cluster",
                         {"kind": "Cluster", "name": "cluster", "max_unavailable": AT_ONCE})
        script = "echo $$; exec sleep 600"
        jobs = [cluster.submit({"name": "long", "command": ["sh", "-c", script], "cores": 1}) for _ in cluster.names]
        for job in jobs:
            cluster.wait_state(job, "running", 90)
        pids = {job: until(lambda: pid_of(cluster, job), 20, "its pid") for job in jobs}

        head = cluster.api.call("GET", "/v1/cluster")["log_head"]
        plan = json.loads(cluster.run("upgrade", "--dry-run", "--each", "1s", "-o", "json").stdout)
        assert cluster.api.call("GET", "/v1/cluster")["log_head"] == head, "a plan changes nothing"
        assert sorted(job for node in plan["nodes"] for job in node["go_on"]) == sorted(jobs), plan
        assert plan["expected_s"] == -(-NODES // AT_ONCE), plan["expected_s"]

        cluster.run("upgrade", "--reason", "new version")
        upgraded = set()
        order = []
        most = 0

        def step():
            nonlocal most
            states = {node["name"]: node["state"] for node in cluster.nodes()}
            most = max(most, sum(state == "repair" for state in states.values()))
            for name in sorted(set(os.listdir(asked)) - upgraded, key=lambda name: os.stat(f"{asked}/{name}").st_mtime):
                upgraded.add(name)
                order.append(name)
                agent = cluster.agents[name]
                agent.kill()
                agent.wait()
                cluster.start_agent(name)
            return len(upgraded) == NODES and all(state == "ready" for state in states.values())

        until(step, 180, "all agents to be upgraded")
        assert 1 <= most <= AT_ONCE, most
        for job in jobs:
            found = cluster.job(job)
            assert found["state"] == "running" and len(found["attempts"]) == 1, found
            # An agent that is back may not take questions for a moment.
            until(lambda: pid_of(cluster, job) == pids[job], 10, f"the output of job {job}")
            os.kill(int(pids[job][0]), 0)
        planned = [node["node"] for node in plan["nodes"]]
        for name in order:  # a node is taken no earlier than the plan says, but for those that share a turn
            assert abs(order.index(name) - planned.index(name)) < 2 * AT_ONCE, (order, planned)
        print(f"{NODES} agents upgraded as planned, at most {most} at once, {len(jobs)} tasks went on")


main()
sys.exit(0)
