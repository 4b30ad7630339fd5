#!/usr/bin/env python3
"""Agents are upgraded behind a link that loses one message in ten, while jobs come and go: no task is restarted or run
twice, and once the link is whole, the controller knows within one heartbeat what has become of every task. A link that
delays and cuts off what it carries runs nothing twice, either, with TLS and without, and what a task has printed is read
as it was or not at all, and nobody waits for what was lost. SEED repeats a run."""
# limit_s: 400
import http.client
import os
import stat
import sys
import time

from cluster import ENDED, Cluster, until
from flaky_link import BEHIND_LINKS, FlakyLink

NODES = int(os.environ.get("NODES", "10"))
SEED = int(os.environ.get("SEED") or time.time() // 86400)
DROP = 0.1
HEARTBEAT_S = 3.0
# One of a hundred connections that break may well be lost seven times in a row: that takes about 5 s, the default fence.
OPTIONS = ["--heartbeat-ms", str(int(HEARTBEAT_S * 1000)), "--fence-s", "15", *BEHIND_LINKS]
WAVES, WAVE = 6, 10
AT_ONCE = 3
DELAY_S, CUT_BYTES, CUTS = 0.05, 24_000, 60
PRINTED = "".join(f"line {i}\n" for i in range(1, 501))


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().splitlines()


class Test:
    def __init__(self, cluster, link):
        self.cluster, self.link = cluster, link
        self.marks = os.path.join(cluster.folder, "marks")
        self.release = os.path.join(cluster.folder, "release")
        self.asked = os.path.join(cluster.folder, "asked")
        for folder in (self.marks, self.asked):
            os.mkdir(folder)

    def hooks(self):
        folder = os.path.join(self.cluster.folder, "hooks")
        os.mkdir(folder)
        with open(folder + "/agent", "w") as file:
            file.write(f"#!/bin/sh\nsleep 0.5\ntouch {self.asked}/$1\n")
        os.chmod(folder + "/agent", stat.S_IRWXU)
        return folder

    def task(self, then):
        """Notes each of its starts, then waits for what `then` says."""
        return {"command": ["sh", "-c", f"echo $$ >> {self.marks}/$DOVE_JOB_ID; {then}"], "cores": 1}

    def submit(self, then):
        return self.cluster.submit(self.task(then))

    def starts(self, job):
        return lines_of(f"{self.marks}/{job}")

    def upgrade(self, step):
        self.cluster.run("node", "upgrade-agent", *self.cluster.names, "--reason", "new version")
        upgraded = set()

        def done():
            step()
            for name in set(os.listdir(self.asked)) - upgraded:
                upgraded.add(name)
                self.cluster.agents[name].kill()
                self.cluster.agents[name].wait()
                self.cluster.start_agent(name)
            return len(upgraded) == NODES

        until(done, 240, "all agents to be asked for their upgrade")

    def settled(self, jobs):
        nodes = self.cluster.nodes()
        if any(node["contact"] != "connected" or node["state"] != "ready" for node in nodes):
            return False
        return all(self.cluster.job(job)["state"] in ENDED for job in jobs)

    def check_once(self, job, state):
        found = self.cluster.job(job)
        assert found["state"] == state, found
        # An agent that is killed while it starts a task may leave an attempt of which nothing ever ran.
        assert len(self.starts(job)) == 1, (found, self.starts(job))
        assert not any(attempt["started_at"] for attempt in found["attempts"][:-1]), found


def read_while_cut(cluster, job):
    """Whether what an ended one has printed could be read: then it is whole."""
    try:  # without TLS a relay has a connection of its own, which breaks alone
        status, _, said = cluster.api.raw("GET", f"/v1/jobs/{job}/logs?rank=0")
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException):
        return False
    if status != 200:
        return False
    assert said.decode() == PRINTED, (job, len(said), said[-60:])
    return True


def delayed_and_cut_off(tls):
    with Cluster(nodes=0, cores=8, tls=tls, server_options=OPTIONS) as cluster, \
            FlakyLink(cluster.port, cluster.agents_port(), delay_s=DELAY_S, cut_bytes=CUT_BYTES, seed=SEED) as link:
        test = Test(cluster, link)
        cluster.agent_url = link.url
        cluster.names = [f"node{i + 1}" for i in range(3)]
        for name in cluster.names:
            cluster.start_agent(name)
        cluster.wait_connected(60)
        jobs, unread, read = [], [], [0, 0]

        def wave():
            jobs.extend(test.submit("seq -f 'line %g' 500") for _ in range(5))
            unread.extend(jobs[-5:])
            for job in unread[:15]:
                if cluster.job(job)["state"] == "completed":
                    read[read_while_cut(cluster, job)] += 1
                    unread.remove(job)
            return link.cut >= CUTS and read[1] > 0

        until(wave, 120, f"{CUTS} connections to be cut off, and a log to be read whole")
        until(lambda: all(cluster.job(job)["state"] in ENDED for job in jobs), 60, "the jobs to end")
        link.delay_s = link.cut_bytes = 0
        until(lambda: test.settled(jobs), 30, "the ledger to agree with the nodes")
        for job in jobs:
            test.check_once(job, "completed")
        print(f"{'TLS' if tls else 'plain'}: {link.cut} connections cut off after up to {CUT_BYTES} bytes, each piece delayed by up "
              f"to {DELAY_S} s; {len(jobs)} jobs ran once; {read[1]} logs read whole, {read[0]} not at all")


def agents_upgraded():
    with Cluster(nodes=0, cores=8, tls=True, server_options=OPTIONS) as cluster, \
            FlakyLink(cluster.port, cluster.agents_port(), seed=SEED) as link:
        test = Test(cluster, link)
        cluster.agent_url = link.url
        cluster.agent_options = ["--hooks", test.hooks()]
        cluster.names = [f"node{i + 1}" for i in range(NODES)]
        for name in cluster.names:
            cluster.start_agent(name)
        cluster.wait_connected(60)
        cluster.api.call("PUT", "/v1/objects/cluster/cluster",
                         {"kind": "Cluster", "name": "cluster", "max_unavailable": AT_ONCE})
        link.drop = DROP
        forever = [test.submit("exec sleep 600") for _ in range(NODES)]
        waiting = [test.submit(f"while ! [ -e {test.release} ]; do sleep 0.1; done") for _ in range(NODES)]
        until(lambda: all(test.starts(job) for job in forever + waiting), 120, "the tasks to start")
        pids = {job: test.starts(job) for job in forever}

        passing = []
        last = [0.0]

        def wave():
            if len(passing) < WAVES * WAVE and time.monotonic() - last[0] > 1:
                last[0] = time.monotonic()
                passing.extend(test.submit("sleep 0.3") for _ in range(WAVE))

        test.upgrade(wave)
        until(lambda: wave() or len(passing) == WAVES * WAVE, 60, "the last wave")
        until(lambda: all(test.starts(job) for job in passing), 120, "the passing tasks to run")
        until(lambda: link.cut >= 100, 120, "a hundred lost messages")
        until(lambda: not any(node["state"] == "repair" for node in cluster.nodes()), 120, "the repairs to be known")
        link.drop = 1.0
        with open(test.release, "w"):
            pass
        time.sleep(2)  # they end while nothing comes through; less than the fence
        link.drop = 0.0
        begun = time.monotonic()
        until(lambda: test.settled(waiting + passing), 30, "the ledger to agree with the nodes")
        took_s = time.monotonic() - begun

        for job in waiting + passing:
            test.check_once(job, "completed")
        for job in forever:
            test.check_once(job, "running")
            assert test.starts(job) == pids[job]
            os.kill(int(pids[job][0]), 0)
        print(f"{link.cut} of {link.cut + link.carried} messages lost; {NODES} agents upgraded; "
              f"{len(waiting + passing)} jobs ran once; settled {took_s:.2f} s after the link was whole")
        assert took_s <= HEARTBEAT_S, took_s


def main():
    print(f"SEED={SEED}", flush=True)
    agents_upgraded()
    for tls in (True, False):
        delayed_and_cut_off(tls)


main()
sys.exit(0)
