#!/usr/bin/env python3
"""A file system that hangs for four fences ends no task: what needs it waits, alone; the node's other jobs run, start
and are read as before; and what waited starts when the file system answers again. So does a command in a running job
(`dove exec`) whose directory or program is there; one that nobody waits for any more never starts. An agent that starts
beside one takes up what its former life left running. The same holds for the directory of images. Where none can be
mounted (not root, no /dev/fuse) only the directory of users hangs: the agent's unit tests do that too.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import threading
import time

from cluster import DOVE, Cluster, cannot_run_containers, until

FENCE_S = 2
HERE = os.path.dirname(os.path.abspath(__file__))


class HungMount:
    def __init__(self, folder, name="remote"):
        self.point, self.flag = f"{folder}/{name}", f"{folder}/{name}-hangs"
        self.server = subprocess.Popen([sys.executable, HERE + "/hung_mount.py", self.point, self.flag],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.is_there = self.server.stdout.readline() == b"ready\n"

    def hang(self, yes):
        if yes:
            open(self.flag, "w").close()
        else:
            os.unlink(self.flag)

    def close(self):
        self.server.kill()  # and every call to it fails
        self.server.communicate()
        subprocess.run(["umount", "-l", self.point], check=False, capture_output=True)


def shell(cluster, text, workdir, **more):
    return cluster.submit({"command": ["sh", "-c", text], "cores": 1, "workdir": workdir, **more})


class Execs:
    """Commands in running jobs whose directory or program is where nothing answers."""

    def __init__(self, cluster, steady, writer, remote):
        self.marks = cluster.folder + "/left"
        self.inside = self.begin(cluster, writer, "sh", "-c", "echo inside; pwd")
        self.program = self.begin(cluster, steady, remote + "/program")
        self.left = self.begin(cluster, writer, "touch", self.marks)
        until(lambda: len(self.asked(cluster)) == 3, 20, "the commands to be on the node")
        self.left.kill()  # and nobody listens to it any more
        self.left.communicate()

    @staticmethod
    def begin(cluster, job, *command):
        return subprocess.Popen([DOVE, "exec", str(job), "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**cluster.environment, "DOVE_DATA": cluster.data})

    @staticmethod
    def asked(cluster):
        return glob.glob(f"{cluster.folder}/nodes/*/attempts/*/exec-task.*")

    def still_wait(self):
        assert self.inside.poll() is None and self.program.poll() is None, (self.inside.poll(), self.program.poll())

    def have_ended(self):
        said, why = self.inside.communicate(timeout=30)
        assert (self.inside.returncode, said.split("\n")[0]) == (0, "inside"), (said, why)
        said, why = self.program.communicate(timeout=30)
        assert self.program.returncode == 127 and "program" in why, (self.program.returncode, said, why)
        assert not os.path.exists(self.marks)


def hangs_alone(cluster, mount):
    remote = mount.point + "/work"
    steady = shell(cluster, "while sleep 0.2; do :; done", "/")
    writer = shell(cluster, "echo first; sleep 300", remote, stdout_path=remote + "/out")
    for job in (steady, writer):
        cluster.wait_state(job, "running")
    until(lambda: "first" in cluster.logs(writer), 20, "the file's first line")

    mount.hang(True)
    began = time.monotonic()
    late = shell(cluster, "echo late", remote)
    beside = Execs(cluster, steady, writer, remote)
    reader = threading.Thread(target=cluster.run, args=("logs", str(writer)), kwargs={"check": False, "limit_s": 120})
    reader.start()
    while time.monotonic() < began + 4 * FENCE_S:
        job = shell(cluster, "echo well", "/")
        assert cluster.wait(job)["state"] == "completed", cluster.job(job)
        assert cluster.logs(job) == "well\n"
        done = cluster.run("exec", str(steady), "--", "echo", "well")
        assert done.stdout == "well\n", done
    beside.still_wait()
    stopped = shell(cluster, "echo never", remote)
    cluster.run("cancel", str(stopped))
    cluster.wait(stopped, 20)
    for job in (steady, writer):
        found = cluster.job(job)
        assert found["state"] == "running" and len(found["attempts"]) == 1, found
    assert cluster.job(late)["state"] not in ("completed", "failed"), cluster.job(late)
    assert [node["contact"] for node in cluster.nodes()] == ["connected"]

    mount.hang(False)
    assert cluster.wait(late)["state"] == "completed", cluster.job(late)
    beside.have_ended()
    reader.join(60)
    assert not reader.is_alive()
    for job in (steady, writer):
        cluster.run("cancel", str(job))
        cluster.wait(job)


def agent_comes_back(cluster, mount):
    """Beside the directory that all nodes share, which hangs; what it left running goes on."""
    job = shell(cluster, "while sleep 0.1; do echo on; done", "/")
    until(lambda: cluster.job(job)["state"] == "running" and cluster.logs(job), 20, "the job's first line")
    (name,) = cluster.names
    cluster.agents[name].kill()
    cluster.agents[name].wait(10)
    until(lambda: cluster.nodes()[0]["contact"] != "connected", 20, "the loss to be noticed")
    mount.hang(True)
    cluster.start_agent(name)
    cluster.wait_connected()
    looked = cluster.run("doctor", "-o", "json", "agent", "--agent-data", f"{cluster.folder}/nodes/{name}", "--shared",
                         mount.point, check=False)
    checks = {check["subject"]: check for check in json.loads(looked.stdout)["checks"]}
    assert checks["disk " + mount.point]["evidence"] == "it has not answered within 5 s", checks
    assert checks["shared " + mount.point]["evidence"] == "mounted at " + mount.point, checks
    said = cluster.logs(job).count("on")
    until(lambda: cluster.logs(job).count("on") > said + 80, 40, "the job to outlive the fence")
    found = cluster.job(job)
    assert found["state"] == "running" and len(found["attempts"]) == 1, found
    mount.hang(False)
    cluster.run("cancel", str(job))
    cluster.wait(job)


def make_image(path, looks_at):
    """The root directory of a container; whoever asks whether it is an OCI layout asks `looks_at`."""
    os.makedirs(path + "/bin")
    shutil.copy("/bin/busybox", path + "/bin/busybox")
    for name in ("sh", "sleep", "echo"):
        os.symlink("busybox", f"{path}/bin/{name}")
    os.symlink(looks_at, path + "/oci-layout")


def container(cluster, text):
    return cluster.submit({"command": ["/bin/sh", "-c", text], "cores": 1, "container": {"image": "far"}})


def images_hang():
    with Cluster(nodes=0, tls=True, server_options=["--fence-s", str(FENCE_S)]) as cluster:
        mount = HungMount(cluster.folder, "images-far")
        try:
            if not mount.is_there or cannot_run_containers():
                return
            os.chmod(cluster.folder, 0o755)
            make_image(cluster.folder + "/images/far", mount.point + "/none")
            cluster.agent_options += ["--images", cluster.folder + "/images"]
            cluster.names.append("node1")
            cluster.start_agent("node1")
            cluster.wait_connected()
            containers_hang_alone(cluster, mount)
        finally:
            mount.close()


def containers_hang_alone(cluster, mount):
    steady = shell(cluster, "while sleep 0.2; do :; done", "/")
    inside = container(cluster, "while sleep 0.2; do :; done")
    for job in (steady, inside):
        cluster.wait_state(job, "running")
    mount.hang(True)
    began = time.monotonic()
    late = container(cluster, "echo late")
    while time.monotonic() < began + 4 * FENCE_S:
        job = shell(cluster, "echo well", "/")
        assert cluster.wait(job)["state"] == "completed", cluster.job(job)
        done = cluster.run("exec", str(inside), "--", "/bin/echo", "inside")
        assert done.stdout == "inside\n", done
    for job in (steady, inside):
        found = cluster.job(job)
        assert found["state"] == "running" and len(found["attempts"]) == 1, found
    assert cluster.job(late)["state"] not in ("completed", "failed"), cluster.job(late)
    assert [node["contact"] for node in cluster.nodes()] == ["connected"]

    mount.hang(False)
    assert cluster.wait(late)["state"] == "completed", cluster.job(late)
    assert cluster.logs(late) == "late\n"
    for job in (steady, inside):
        cluster.run("cancel", str(job))
        cluster.wait(job)


def shared_hangs():
    with Cluster(nodes=0, tls=True) as cluster:
        mount = HungMount(cluster.folder, "shared")
        try:
            if not mount.is_there:
                return
            cluster.names.append("node1")
            cluster.start_agent("node1")
            cluster.wait_connected()
            agent_comes_back(cluster, mount)
        finally:
            mount.close()


def main():
    shared_hangs()
    images_hang()
    with Cluster(nodes=1, tls=True, server_options=["--fence-s", str(FENCE_S)]) as cluster:
        mount = HungMount(cluster.folder)
        try:
            if not mount.is_there:
                print("no file system can be mounted here")
                return 0
            hangs_alone(cluster, mount)
        finally:
            mount.close()
    return 0


if __name__ == "__main__":
    if os.geteuid() == 0 and os.environ.get("DOVE_MOUNTS_APART") != "1":
        os.environ["DOVE_MOUNTS_APART"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                              os.path.abspath(__file__), *sys.argv[1:]])
    sys.exit(main())
