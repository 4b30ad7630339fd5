#!/usr/bin/env python3
"""An agent inside a container that is given cgroups and devices runs processes and containers, with every limit enforced;
and the group of its container holds all of it. The container is runc's; only for a machine of tools/vm.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from cluster import DOVE, SKIP, Cluster, until  # noqa: E402
from isolation_test import make_image  # noqa: E402
from systemd_test import let_forward, read  # noqa: E402

RUNTIME = "/usr/bin/crun"
LIMIT_S = 120
GROUP = "/sys/fs/cgroup/node"
ALL = [f"CAP_{name}" for name in """AUDIT_WRITE BPF CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL
LEASE LINUX_IMMUTABLE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYS_ADMIN
SYS_BOOT SYS_CHROOT SYS_NICE SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYSLOG""".split()]


def bundle(root, argv):
    """What `docker run --privileged --cgroupns=private` would give: every capability and device, a cgroup tree to write."""
    capabilities = {kind: ALL for kind in ("bounding", "effective", "permitted")}
    mounts = [("proc", "proc", "/proc", []), ("sysfs", "sysfs", "/sys", []), ("cgroup", "cgroup", "/sys/fs/cgroup", ["rw"]),
              ("bind", "/dev", "/dev", ["rbind", "rw"]), ("tmpfs", "tmpfs", "/run", ["mode=755"])]
    return {"ociVersion": "1.0.2", "root": {"path": root}, "hostname": "node",
            "process": {"args": argv, "cwd": "/", "user": {"uid": 0, "gid": 0}, "capabilities": capabilities,
                        "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]},
            "mounts": [{"type": kind, "source": source, "destination": target, "options": options}
                       for kind, source, target, options in mounts],
            "linux": {"cgroupsPath": "/node", "namespaces": [{"type": kind} for kind in ("pid", "mount", "uts", "ipc", "cgroup")],
                      "resources": {"devices": [{"allow": True, "access": "rwm"}], "memory": {"limit": 1 << 30}}}}


class NestedAgentTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nested.", dir="/var/lib")
        os.chmod(self.folder, 0o755)
        let_forward()
        make_image(self.folder + "/images/small")
        root = self.folder + "/root"
        os.mkdir(root)
        subprocess.run(["mount", "--bind", "/", root], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", root])
        subprocess.run(["mount", "--bind", "/mnt/tree", root + os.environ["DOVE_SOURCE_DIR"]], check=True)
        self.cluster = Cluster(nodes=0, server_options=["--fence-s", "60", "--silent-after-s", "30"])
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.api = self.cluster.api

    def start(self):
        token = self.api.call("POST", "/v1/join-tokens", {"node": "nested"})["token"]
        with open(self.folder + "/token", "w") as file:
            file.write(token)
        os.chmod(self.folder + "/token", 0o600)
        self.run_container()

    def run_container(self):
        argv = [DOVE, "agent", "--name", "nested", "--url", self.cluster.url, "--data", self.folder + "/agent",
                "--join-token-file", self.folder + "/token", "--images", self.folder + "/images", "--run-as-self",
                "--cgroups", "on"]
        with open(self.folder + "/config.json", "w") as file:
            json.dump(bundle(self.folder + "/root", argv), file)
        with open(self.folder + "/log", "ab") as log:
            self.container = subprocess.Popen([RUNTIME, "run", "--bundle", self.folder, "node"], stdin=subprocess.DEVNULL,
                                              stdout=log, stderr=log)
        self.addCleanup(self.container.wait, LIMIT_S)
        self.addCleanup(subprocess.run, [RUNTIME, "kill", "node", "KILL"], stderr=subprocess.DEVNULL)

    def until_connected(self):
        try:
            until(lambda: [node["contact"] for node in self.cluster.nodes()] == ["connected"], LIMIT_S, "the agent")
        except TimeoutError as error:
            self.fail(f"{error}\n{read(self.folder + '/log')}")

    def test_it_runs_processes_and_containers(self):
        self.start()
        self.until_connected()
        self.assertEqual(self.cluster.nodes()[0]["not_enforced"], "")
        for container in (None, {"image": "small"}):
            job = {"name": "nested", "memory": "64Mi", "command": ["/bin/sh", "-c", "echo of $(cat /proc/self/cgroup); sleep 5"]}
            if container:
                job["container"] = container
            number = self.cluster.submit(job)
            until(lambda: any(map(os.path.isdir, glob.glob(GROUP + "/dove-nested.*/*"))), LIMIT_S, "the task's group")
            attempt = next(filter(os.path.isdir, glob.glob(GROUP + "/dove-nested.*/*")))
            self.assertEqual(read(attempt + "/memory.max"), str(64 << 20))
            ended = self.cluster.wait(number, LIMIT_S)
            self.assertEqual(ended["state"], "completed", f"{ended}\n{read(self.folder + '/log')}")
            self.assertIn("of 0::", self.cluster.logs(number))
            until(lambda: not os.path.exists(attempt), LIMIT_S, "the task's group to go")

    def test_tasks_that_ended_with_the_container_are_started_again(self):
        self.start()
        self.until_connected()
        job = self.cluster.submit({"name": "again", "command": ["/bin/sh", "-c", "echo started; sleep 1000"]})
        self.cluster.wait_state(job, "running", LIMIT_S)
        subprocess.run([RUNTIME, "kill", "node", "KILL"], check=True, timeout=LIMIT_S)
        self.container.wait(LIMIT_S)  # which removes what was the container's
        self.run_container()
        until(lambda: self.cluster.job(job)["attempt"] == 2 and self.cluster.job(job)["state"] == "running", LIMIT_S,
              "the job's second attempt")
        self.assertEqual(self.cluster.job(job)["attempts"][0]["exits"][0]["cause"], "shim_lost")


if __name__ == "__main__":
    if os.geteuid() != 0 or not os.path.isdir("/run/systemd/system") or os.environ.get("DOVE_VM") != "1":
        print("skipped: this test is for a machine of tools/vm")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
