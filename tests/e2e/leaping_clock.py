"""A clock of a machine that somebody sets, for some of a cluster's programs: Debian's faketime.

    clock = LeapingClock(cluster, faketime())
    cluster.start_server = clock.shown_to(cluster.start_server)
    ...
    clock.set(DAY_S)
"""
import os
import subprocess

DAY_S = 86_400


def faketime():
    """Its library; None: it is not there (tools/setup peers)."""
    try:
        found = subprocess.run(["dpkg", "-L", "libfaketime"], capture_output=True, text=True).stdout
    except OSError:
        return None
    return next((line for line in found.splitlines() if line.endswith("/libfaketimeMT.so.1")), None)


def back_s():
    """faketime moves instants of the steady clock, too, where timers are set to them: further back than the machine is up they
    never come."""
    with open("/proc/uptime") as file:
        return min(DAY_S, int(float(file.read().split()[0])) // 2)


class LeapingClock:
    def __init__(self, cluster, library):
        self.cluster = cluster
        self.path = os.path.join(cluster.folder, "clock-ahead")
        self.set(0)
        self.environment = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_NO_CACHE": "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set(self, ahead_s):
        with open(self.path + ".new", "w") as file:
            file.write(f"{ahead_s:+d}\n")
        os.rename(self.path + ".new", self.path)

    def shown_to(self, start):
        """`start`, whose programs see this clock."""
        def started(*arguments):
            plain = self.cluster.environment
            self.cluster.environment = {**plain, **self.environment}
            try:
                return start(*arguments)
            finally:
                self.cluster.environment = plain
        return started


def leap_is_seen(cluster):
    return b"machine leapt by" in cluster.api.raw("GET", "/v1/cluster")[2]
