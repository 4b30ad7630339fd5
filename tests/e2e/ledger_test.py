#!/usr/bin/env python3
"""What a task sees is what the ledger says: the cores that it may run on, the devices that it is given, and, where the node
enforces limits (cgroup v2, as root), the cores and the memory of its cgroup. Where it can keep devices apart (as root), the
device files that a task can open are those of its devices, too. Asked of the tasks themselves, through the agent."""
import json
import os
import sys
import unittest

from cluster import Cluster
from devices_test import DEVICES, FORBIDDEN, NO_DRIVER, TRIES, can_make_devices, make_devices
from isolation_test import cannot_run

SEES = """
import json, os
def read(name):
    own = [line.split("::", 1)[1].strip() for line in open("/proc/self/cgroup") if line.startswith("0::")]
    folder = "/sys/fs/cgroup" + (own[0] if own else "")
    while len(folder) > len("/sys/fs/cgroup"):
        if os.path.exists(folder + "/" + name) and (text := open(folder + "/" + name).read().strip()) not in ("", "max"):
            return text
        folder = os.path.dirname(folder)
    return None
print(json.dumps({"cores": sorted(os.sched_getaffinity(0)), "devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
                  "cpuset": read("cpuset.cpus"), "memory": read("memory.max")}))
"""


def ids(text):
    """"0-2,5" as numbers."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class Ledger(unittest.TestCase):
    def seen(self, cluster, job):
        """(what the task says, its grant in the ledger, its placement) for each rank."""
        found = cluster.wait(job)
        self.assertEqual(found["state"], "completed", cluster.logs(job))
        out = []
        for placement in found["attempts"][-1]["placements"]:
            for task in placement["tasks"]:
                out.append((json.loads(cluster.logs(job, task["rank"])), task, placement))
        return out

    def test_cores_of_this_machine(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("this machine has one core")
        with Cluster(nodes=1, gpus=None) as cluster:
            job = cluster.submit({"command": ["/usr/bin/python3", "-c", SEES], "tasks": 2, "cores": 1, "memory": "64Mi"})
            seen = self.seen(cluster, job)
            self.assertEqual(len(seen), 2)
            for said, task, placement in seen:
                self.assertEqual(said["cores"], task["cores"])
                self.assertLessEqual(set(task["cores"]), set(placement["cores"]))
                self.assertEqual(len(task["cores"]), 1)
            self.assertFalse(set(seen[0][0]["cores"]) & set(seen[1][0]["cores"]), "two tasks share a core")

    def test_limits_of_the_cgroup(self):
        with Cluster(nodes=1, gpus=None) as cluster:
            if "cgroups are off" in (cluster.nodes()[0]["not_enforced"] or ""):
                self.skipTest("this machine has no cgroup v2 that the agent may use")
            job = cluster.submit({"command": ["/usr/bin/python3", "-c", SEES], "cores": 1, "memory": "64Mi"})
            for said, task, placement in self.seen(cluster, job):
                self.assertEqual(ids(said["cpuset"]), placement["cores"])
                self.assertEqual(said["cores"], task["cores"])
                self.assertEqual(int(said["memory"]), placement["memory_bytes"])

    def test_two_clusters_of_one_machine(self):
        """Their nodes have one name and their jobs the same numbers: neither's tasks are in the other's groups."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        script = "cat /proc/self/cgroup; while ! test -e %s/go; do sleep 0.05; done"
        with Cluster(nodes=1, agent_options=["--cgroups", "on"]) as one, \
                Cluster(nodes=1, agent_options=["--cgroups", "on"]) as other:
            jobs = [cluster.submit({"name": "a", "command": ["sh", "-c", script % cluster.folder]})
                    for cluster in (one, other)]
            self.assertEqual(jobs[0], jobs[1])
            for cluster in (one, other):
                cluster.wait_state(jobs[0], "running")
            for cluster in (one, other):  # the first one's end is not the second's
                with open(cluster.folder + "/go", "w"):
                    pass
                self.assertEqual(cluster.wait(jobs[0])["state"], "completed", cluster.logs(jobs[0]))
            said = [set(line for line in cluster.logs(jobs[0]).splitlines() if "/dove-" in line) for cluster in (one, other)]
            self.assertTrue(said[0] and not said[0] & said[1], said)

    def test_devices(self):
        with Cluster(nodes=2, cores=4, gpus=4) as cluster:
            job = cluster.submit({"command": ["/usr/bin/python3", "-c", SEES], "nodes": 2, "tasks": 4, "gpus": 2, "cores": 1})
            given = {}
            for said, task, placement in self.seen(cluster, job):
                wanted = [grant["device"] for grant in task["devices"]]
                self.assertEqual(ids(said["devices"]), wanted)
                self.assertEqual(len(wanted), 2)
                self.assertLessEqual(set(wanted), {grant["device"] for grant in placement["devices"]})
                before = given.setdefault(placement["node_name"], set())
                self.assertFalse(before & set(wanted), "a device was given twice")
                before |= set(wanted)
            self.assertEqual(given, {"node1": {0, 1, 2, 3}, "node2": {0, 1, 2, 3}})
            none = cluster.submit({"command": ["/usr/bin/python3", "-c", SEES], "cores": 1})
            self.assertEqual([said["devices"] for said, _, _ in self.seen(cluster, none)], [""])


@unittest.skipUnless(os.geteuid() == 0 and can_make_devices(), "this machine lets nobody make and open device files here")
class DeviceFiles(unittest.TestCase):
    """Eight emulated GPUs with a file each, and one file that belongs to all of them. Every task tries to open all files."""

    # A shell's words for ENXIO, which a device without a driver gives whoever may open it.
    TRIES_IN_SHELL = """for file in %s; do (: < $file) 2>&1 | grep -q "No such device or address" && echo ${file##*/}; done; true"""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=None, agent_options=["--cgroups", "on"])
        cls.files, options = make_devices(cls.cluster.folder)
        cls.cluster.agent_options += options
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        lacks = self.cluster.nodes()[0].get("not_enforced") or ""
        if "devices" in lacks:
            self.skipTest(lacks)

    def compare(self, job, opened_by):
        """Compares what each task could open with its grant in the ledger; returns the ids that all of them had."""
        found = self.cluster.wait(job)
        self.assertEqual(found["state"], "completed", self.cluster.logs(job))
        ids = []
        for placement in found["attempts"][-1]["placements"]:
            for task in placement["tasks"]:
                given = [grant["device"] for grant in task["devices"]]
                wanted = [f"gpu{i}" for i in sorted(given)] + ["shared"] * bool(given)
                self.assertEqual(opened_by(self.cluster.logs(job, task["rank"])), wanted, f"rank {task['rank']}")
                ids += given
        return ids

    def run_tasks(self, **job):
        def opened(log):
            answers = dict(line.split() for line in log.splitlines())
            self.assertEqual(len(answers), DEVICES + 1, log)
            self.assertLessEqual(set(answers.values()), {str(NO_DRIVER), str(FORBIDDEN)}, log)
            return sorted(name for name, error in answers.items() if int(error) == NO_DRIVER)
        command = ["/usr/bin/python3", "-c", TRIES, self.files]
        return self.compare(self.cluster.submit({"command": command, **job}), opened)

    def test_each_task_opens_its_own(self):
        self.assertEqual(sorted(self.run_tasks(tasks=3, gpus=2)), [0, 1, 2, 3, 4, 5])

    def test_beside_another_job(self):
        hold = self.cluster.submit({"command": ["sleep", "60"], "gpus": 5})
        self.cluster.wait_state(hold, "running")
        held = {grant["device"] for grant in self.cluster.job(hold)["attempts"][-1]["placements"][0]["devices"]}
        ids = self.run_tasks(gpus=3)
        self.assertEqual(set(ids) | held, set(range(DEVICES)))
        self.cluster.api.call("POST", f"/v1/jobs/{hold}/cancel", {})
        self.cluster.wait(hold)

    def test_a_share_and_none(self):
        self.assertEqual(len(self.run_tasks(share_milli=500)), 1)
        self.assertEqual(self.run_tasks(), [])

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_in_containers(self):
        files = " ".join(f"{self.files}/{name}" for name in sorted(os.listdir(self.files)))
        job = self.cluster.submit({"command": ["/bin/sh", "-c", self.TRIES_IN_SHELL % files], "tasks": 2, "gpus": 3,
                                   "container": {"image": "small"}})
        self.assertEqual(len(set(self.compare(job, str.split))), 6)


if __name__ == "__main__":
    sys.exit(unittest.main())
