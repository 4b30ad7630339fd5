#!/usr/bin/env python3
"""The units of deploy/systemd on a machine that systemd runs: all limits hold, and tasks outlive what happens to the units:
a restart, a stop, a kill, a reload of systemd, another `dove`. Installs into /usr and /etc: only for a machine of tools/vm.
"""
import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from cluster import ENDED, ROOT, SKIP, Api, until  # noqa: E402
from isolation_test import make_image  # noqa: E402

BUILD = os.environ.get("DOVE_BUILD_DIR", "")
KEPT = "/var/lib/dove/agent/kept"
GROUP = "/sys/fs/cgroup/dove-vm.*"  # its data directory tells it from others
LIMIT_S = 120  # an emulated machine is slow


def systemctl(*words):
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        journal = subprocess.run(["journalctl", "-b", "-n", "40", "--no-pager"], capture_output=True, text=True).stdout
        raise AssertionError(f"systemctl {words}: {done.stdout}{done.stderr}\n{journal}")
    return done.stdout.strip()


def main_pid(unit):
    return int(systemctl("show", "-P", "MainPID", unit))


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def read(path):
    with open(path) as file:
        return file.read().strip()


def install_programs():
    for name in ("dove", "dove-shim", "dove-contain", "libdove-share.so"):
        shutil.copy(os.path.join(BUILD, name), f"/usr/bin/{name}.new")
        os.rename(f"/usr/bin/{name}.new", f"/usr/bin/{name}")


def let_forward():
    """Otherwise the node reports that gang networks have no egress."""
    with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
        file.write("1")


class SystemdTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install_programs()
        for unit in ("dove-server", "dove-agent"):
            shutil.copy(f"{ROOT}/deploy/systemd/{unit}.service", f"/etc/systemd/system/{unit}.service")
        shutil.copy(f"{ROOT}/deploy/systemd/dove.conf", "/usr/lib/sysusers.d/dove.conf")
        subprocess.run(["systemd-sysusers"], check=True, timeout=60)
        let_forward()
        make_image("/var/lib/images/small")
        os.makedirs("/var/lib/shared", exist_ok=True)
        write("/etc/dove/server.yaml", "fence-s: 60\nsilent-after-s: 30\n")
        write(KEPT, "the agent's\n", 0o600)  # a node before it was the controller's machine
        write("/etc/dove/agent.yaml", "name: vm\njoin-token-file: /etc/dove/join-token\nimages: /var/lib/images\n"
              "shared: /var/lib/shared\nrun-as-self: true\ncgroups: on\n")
        systemctl("daemon-reload")
        systemctl("start", "dove-server")
        token = "/var/lib/dove/server/token"
        until(lambda: os.path.exists(token), LIMIT_S, "the server's token")
        cls.api = Api("http://127.0.0.1:7717", read(token), timeout=LIMIT_S)
        cls.until_answered()
        write("/etc/dove/join-token", cls.api.call("POST", "/v1/join-tokens", {"node": "vm"})["token"], 0o600)
        systemctl("start", "dove-agent")
        cls.until_connected()

    @classmethod
    def until_answered(cls):
        def answered():
            try:
                return "nodes" in cls.api.call("GET", "/v1/nodes")
            except OSError:
                cls.api.close()
                return False
        until(answered, LIMIT_S, "the server to answer")

    @classmethod
    def until_connected(cls):
        def connected():
            return [node["contact"] for node in cls.api.call("GET", "/v1/nodes")["nodes"]] == ["connected"]
        until(connected, LIMIT_S, "the agent to be connected")

    def submit(self, script, **more):
        return self.api.call("POST", "/v1/jobs", {"name": "vm", "command": ["/bin/sh", "-c", script], "memory": "64Mi", **more})["id"]

    def wait(self, job):
        def ended():
            found = self.api.call("GET", f"/v1/jobs/{job}")
            return found if found["state"] in ENDED else None
        return until(ended, LIMIT_S, f"job {job} to end")

    def test_the_controller_owns_its_own_directory_only(self):
        owners = {path: pwd.getpwuid(os.stat(path).st_uid).pw_name for path in
                  ("/var/lib/dove", "/var/lib/dove/server", "/var/lib/dove/server/token", "/var/lib/dove/agent", KEPT)}
        self.assertEqual([path for path, owner in owners.items() if owner == "dove"],
                         ["/var/lib/dove/server", "/var/lib/dove/server/token"], owners)

    def test_everything_is_enforced_below_the_agents_group(self):
        node = self.api.call("GET", "/v1/nodes")["nodes"][0]
        self.assertEqual(node["not_enforced"], "")
        for more in ({}, {"container": {"image": "small"}}):
            job = self.submit("dd if=/dev/zero of=/dev/null bs=200M count=1; exit $?", **more)
            self.assertIn("out_of_memory", json.dumps(self.wait(job)))

    def test_tasks_outlive_their_agent(self):
        go = "/var/lib/shared/go"
        jobs = [self.submit(f"while ! test -e {go}; do sleep 0.2; done; exit 5"),
                self.submit("while ! test -e /mnt/go; do sleep 0.2; done; exit 6", container={
                    "image": "small", "volumes": [{"source": "/var/lib/shared", "target": "/mnt"}]})]
        def shown():
            return [self.api.call("GET", f"/v1/jobs/{job}")["state"] for job in jobs] == ["running", "running"]
        until(shown, LIMIT_S, "both tasks to run")
        groups = sorted(path for path in glob.glob(GROUP + "/*") if os.path.isdir(path))
        self.assertEqual(len(groups), 2)
        def held():
            return [(read(f"{group}/memory.max"), [read(f"{group}/{task}/pids.max") for task in os.listdir(group)
                                                  if os.path.isdir(f"{group}/{task}")]) for group in groups]
        limits, agent = held(), main_pid("dove-agent")
        self.assertEqual({memory for memory, _ in limits}, {str(64 << 20)})

        systemctl("restart", "dove-agent")
        self.assertNotEqual(main_pid("dove-agent"), agent)
        systemctl("stop", "dove-agent")
        systemctl("daemon-reload")
        systemctl("start", "dove-agent")
        before = main_pid("dove-agent")
        os.kill(before, 9)
        until(lambda: main_pid("dove-agent") not in (0, before), LIMIT_S, "systemd to start the killed agent again")
        systemctl("daemon-reexec")
        install_programs()
        systemctl("restart", "dove-server", "dove-agent")
        self.until_answered()
        self.until_connected()
        self.assertTrue(shown())
        self.assertEqual(held(), limits)

        write(go, "")
        self.assertEqual([[task["exit_code"] for task in self.tasks(self.wait(job))] for job in jobs], [[5], [6]])
        until(lambda: not any(map(os.path.isdir, glob.glob(GROUP + "/*"))), LIMIT_S, "groups to go")

    def tasks(self, job):
        attempts = job["attempts"]
        self.assertEqual(len(attempts), 1, "it was not started again")
        return attempts[0]["exits"]


if __name__ == "__main__":
    if os.geteuid() != 0 or not os.path.isdir("/run/systemd/system") or os.environ.get("DOVE_VM") != "1":
        print("skipped: this test is for a machine of tools/vm")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
