"""A real Slurm and a real cluster of ours on the same nodes, joined by dove slurm: the base of the tests."""
import json
import os
import re
import signal
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import DOVE, ENDED, SKIP, Cluster, until  # noqa: E402
from slurm_lab import SlurmLab, available  # noqa: E402

NODES = 2
GPUS = 4
CPUS = 8
# A script's last line, while it waits for a signal. Slurm signals a job's processes one by one: after `sleep 300 & wait` the
# shell may end with its child, before the signal reaches it and its trap.
LISTENS = "for _ in $(seq 300); do sleep 1; done"
OBJECTS = """\
kind: Project
name: infrastructure
---
kind: User
name: slurm-1
service_of: infrastructure
---
kind: Executor
name: slurm
service_account: slurm-1
nodes: ["n[0-1]"]
"""


def slurms_number(thread, threads):
    """Slurm numbers the threads of a core one after the other, the kernel all first ones before all second ones."""
    cores = CPUS // threads
    return thread % cores * threads + thread // cores


def numbers_of(text):
    """"0,2-4": {0, 2, 3, 4}."""
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class SharedNodes(unittest.TestCase):
    nodes = NODES
    agents = NODES  # on that many of the nodes, from the first
    threads = int(os.environ.get("THREADS", "1"))  # of each core
    agent_options = []
    lab_class, lab_options = SlurmLab, {}
    objects = OBJECTS  # what is declared

    @classmethod
    def setUpClass(cls):
        cls.lab = cls.lab_class(nodes=cls.nodes, cpus=CPUS, gpus=GPUS, threads=cls.threads, **cls.lab_options).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)
        cls.cluster = Cluster(nodes=cls.agents, gpus=None,
                              agent_options=["--inventory", cls.inventory(), *cls.agent_options])
        cls.cluster.names = [f"n{i}" for i in range(cls.agents)]
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.run("apply", "-f", "-", input=cls.objects)
        key = cls.cluster.run("key", "create", "slurm", "--user", "slurm-1", "-o", "json").stdout
        cls.key = cls.lab.folder + "/key"
        with open(cls.key, "w") as file:
            file.write(json.loads(key)["key"])
        cls.adapter = None
        cls.start_adapter()
        cls.addClassCleanup(lambda: cls.end_adapter(signal.SIGTERM))

    @classmethod
    def inventory(cls):
        """The file of what an agent of ours has: two NUMA nodes of half the GPUs and whole cores each."""
        path, cores = cls.lab.folder + "/inventory.yaml", CPUS // cls.threads
        with open(path, "w") as file:
            file.write(f"threads_per_core: {cls.threads}\nnuma:\n")
            for half in (range(cores // 2), range(cores // 2, cores)):
                threads = ",".join(str(core + i * cores) for core in half for i in range(cls.threads))
                file.write(f'  - {{cores: "{threads}", memory: 7680Mi}}\n')
            file.write("devices:\n")
            for half in (0, 1):
                file.write(f"  - {{count: {GPUS // 2}, model: H200, memory: 141Gi, numa_node: {half}{cls.device_files()}}}\n")
        return path

    @classmethod
    def device_files(cls):
        """What the inventory says of the files of its devices: they have none."""
        return ""

    @classmethod
    def adapter_options(cls):
        return []

    @classmethod
    def start_adapter(cls):
        ca = cls.cluster.ca_file()
        with open(f"{cls.lab.folder}/log/adapter", "ab") as log:
            cls.adapter = subprocess.Popen(
                [DOVE, "slurm", "--url", cls.cluster.url, "--key-file", cls.key, *cls.adapter_options(),
                 *(["--ca-file", ca] if ca else [])],
                env=cls.lab.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @classmethod
    def end_adapter(cls, how):
        cls.adapter.send_signal(how)
        cls.adapter.wait(15)

    def setUp(self):
        until(lambda: all(node["state"] == "ready" for node in self.cluster.nodes()), 30, "the nodes to be open")
        self.addCleanup(self.clear)

    def clear(self):
        for job in self.cluster.api.call("GET", "/v1/jobs")["jobs"]:
            if job["state"] not in ENDED:
                self.cluster.run("cancel", str(job["id"]), check=False)
        self.lab.run("scancel -u root; scancel -u nobody")
        self.lab.until("squeue -h", lambda out: not out.strip())

    # -- Slurm's side

    def sbatch(self, *options, seconds=300, script=None):
        return int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", *options, "--wrap",
                                 script or f"sleep {seconds}"]))

    def running(self, job):
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "RUNNING")

    def held_in_slurm(self):
        """{name of the job: {(node, index)}} of all that runs there."""
        held = {}
        for part in self.lab.run("scontrol show job -d -o").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", part))
            if fields.get("JobState") not in ("RUNNING", "SUSPENDED"):
                continue
            for node, gres in re.findall(r"Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(\S*)", part):
                held.setdefault(f"{fields['JobName']}#{fields['JobId']}", set()).update(
                    (node, int(i)) for i in re.findall(r"\(IDX:(\d+)\)", gres))
        return held

    def cores_in_slurm(self, job):
        """{node: {core}} that the placeholder of our job has there."""
        for part in self.lab.run("scontrol show job -d -o").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", part))
            if fields.get("JobState") == "RUNNING" and fields["JobName"].startswith(f"dove-{job}."):
                return {node: numbers_of(ids) for node, ids in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=", part)}
        return {}

    # -- our side

    def submit(self, gpus, node=None, command=("sleep", "300"), **more):
        body = {"command": list(command), "gpus": gpus, "cores": 1, "memory": "100Mi", **more}
        if node:
            body["nodes_wanted"] = [node]
        return self.cluster.submit(body)

    def cores(self, job):
        """{node: {core}} that the ledger gives its attempt, by Slurm's numbers."""
        placements = self.cluster.job(job)["attempts"][-1]["placements"]
        return {one["node_name"]: self.by_slurms_number(one["cores"]) for one in placements}

    def by_slurms_number(self, cores):
        return {slurms_number(core, self.threads) for core in cores}

    def devices(self, job):
        """{(node, index)} of its attempt."""
        placements = self.cluster.job(job)["attempts"][-1]["placements"]
        return {(one["node_name"], grant["device"]) for one in placements for grant in one["devices"]}

    def started(self, job, limit_s=40):
        self.cluster.wait_state(job, "running", limit_s)
        return self.devices(job)

    def placeholder(self, job):
        for name, held in self.held_in_slurm().items():
            if name.startswith(f"dove-{job}."):
                return held
        return None

    def foreign(self, node):
        """{id: allocation} of what Slurm runs there, as the ledger knows it."""
        executors = self.cluster.api.call("GET", "/v1/nodes/" + node)["executors"]
        return {one["id"]: one for executor in executors for one in executor["foreign"]}

    def known(self, job, node, limit_s=15):
        until(lambda: str(job) in self.foreign(node), limit_s, f"Slurm job {job} to be known")


def main():
    if not available():
        print("no Slurm here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
