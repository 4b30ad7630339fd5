#!/usr/bin/env python3
"""A clock that leaps by a day ends nothing where there is TLS: neither the controller's, whose time certificates and tokens
follow, nor an agent's."""
import os
import sys
import time

from cluster import SKIP, Cluster, until
from leaping_clock import DAY_S, LeapingClock, back_s, faketime, leap_is_seen

HOUR_S = 3_600


def connections(cluster):
    with open(os.path.join(cluster.folder, "processes.log")) as file:
        return file.read().count('"event":"connected"')


def connects_again(cluster, count, act):
    before = connections(cluster)
    act()
    until(lambda: connections(cluster) >= before + count, 30, f"{count} agents to connect again")
    cluster.wait_connected()


def restart_server(cluster):
    def act():
        cluster.server.terminate()
        cluster.server.wait(20)
        cluster.start_server()
    connects_again(cluster, len(cluster.names), act)


def restart_agent(cluster, name):
    def act():
        agent = cluster.agents.pop(name)
        agent.kill()
        agent.wait(10)
        cluster.start_agent(name)
    connects_again(cluster, 1, act)


def a_long_job(cluster):
    job = cluster.submit({"name": "long", "command": ["sleep", "100000"], "cores": 1})
    cluster.wait_state(job, "running")
    return job


def goes_on(cluster, job):
    found = cluster.job(job)
    assert found["state"] == "running" and len(found["attempts"]) == 1, found


def tokens_are_right(cluster, name):
    """A node joins by an hour's token, which has its hour; a key that was made before is good."""
    token = cluster.api.call("POST", "/v1/join-tokens", {"node": "nobody"})
    assert abs(token["expires_at_us"] / 1e6 - time.time() - HOUR_S) < 60, token
    cluster.names.append(name)
    connects_again(cluster, 1, lambda: cluster.start_agent(name))


def controller(library):
    cluster = Cluster(nodes=2, tls=True)
    clock = LeapingClock(cluster, library)
    cluster.start_server = clock.shown_to(cluster.start_server)
    with cluster:
        user = cluster.api.call("POST", "/v1/users/ada/token?create=1")["token"]
        key = cluster.caller(user).call("POST", "/v1/keys", {"name": "ci", "ttl_s": HOUR_S})["key"]
        job = a_long_job(cluster)
        for ahead_s, name in ((DAY_S, "later"), (-back_s(), "earlier")):
            clock.set(ahead_s)
            until(lambda: leap_is_seen(cluster), 20, "the leap to be seen")
            restart_agent(cluster, "node1")
            restart_server(cluster)
            until(lambda: leap_is_seen(cluster), 20, "the leap to be seen after a restart")
            restart_agent(cluster, "node2")
            tokens_are_right(cluster, name)
            assert cluster.caller(key).raw("GET", "/v1/jobs")[0] == 200
            short = cluster.submit({"name": "short", "command": ["true"], "cores": 1})
            assert cluster.wait(short)["state"] == "completed", cluster.job(short)
            goes_on(cluster, job)


def agents(library):
    cluster = Cluster(nodes=0, tls=True)
    clock = LeapingClock(cluster, library)
    cluster.start_agent = clock.shown_to(cluster.start_agent)
    with cluster:
        cluster.names = ["node1", "node2"]
        for name in cluster.names:
            cluster.start_agent(name)
        cluster.wait_connected()
        job = a_long_job(cluster)
        # Ahead alone: behind, the timers of an agent that runs would never come (back_s()).
        clock.set(DAY_S)
        restart_server(cluster)
        restart_agent(cluster, "node1")
        restart_agent(cluster, "node2")
        goes_on(cluster, job)


def main():
    library = faketime()
    if library is None:
        print("skipped: there is no faketime (tools/setup peers)")
        return SKIP
    controller(library)
    agents(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
