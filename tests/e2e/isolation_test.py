#!/usr/bin/env python3
"""What a hostile task in a container tries, and a neighbour in another container that notices none of it.

Each attempt is refused; those that use up a resource (processes, memory, shared memory, disk) end with their own task.
Afterwards the machine has no cgroup, mount, process or directory of the containers. Needs root, runc, busybox.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

from cluster import SKIP, Cluster, until

HERE = os.path.dirname(os.path.abspath(__file__))
ATTEMPTS_MIN = 30
NODE = "contained"  # its groups are told from those of other clusters by it
APPLETS = ["sh", "sleep", "id", "dd", "cat", "echo", "ls", "true", "test", "head", "tail"]


def cannot_run():
    if os.geteuid() != 0:
        return "containers need root"
    if not shutil.which("runc") and not shutil.which("crun"):
        return "there is no OCI runtime (tools/setup test)"
    if not os.path.exists("/bin/busybox"):
        return "there is no /bin/busybox (tools/setup test)"
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0:
        return "this machine allows no user namespaces"
    return None


def make_image(path):
    os.makedirs(path + "/bin")
    shutil.copy("/bin/busybox", path + "/bin/busybox")
    for applet in APPLETS:
        os.symlink("busybox", f"{path}/bin/{applet}")
    return path


class IsolationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.root = tempfile.mkdtemp(prefix="dove-isolation.")
        os.chmod(cls.root, 0o755)
        image = make_image(cls.root + "/images/small")
        subprocess.run(["cc", "-O1", "-static", "-w", "-o", image + "/bin/escapes", HERE + "/escapes.c"], check=True)
        cls.volume = cls.root + "/volumes/open"
        os.makedirs(cls.volume)
        os.makedirs(cls.root + "/elsewhere")
        os.makedirs(cls.root + "/volumes/readonly")
        os.chmod(cls.volume, 0o777)
        with open(cls.volume + "/of-root", "w") as file:
            file.write("the machine's\n")
        os.symlink(cls.root + "/elsewhere", cls.root + "/volumes/leads-out")
        cls.mounts = cls.mounted()
        cls.cluster = Cluster(agent_options=["--cgroups", "on", "--images", cls.root + "/images", "--scratch", "64Mi",
                                             "--volume-roots", cls.root + "/volumes"])
        cls.cluster.names = [NODE]
        cls.cluster.__enter__()
        cls.neighbour = cls.run_in("i=0; while ! [ -e /volume/stop ]; do i=$((i+1)); echo $i > /volume/alive; sleep 0.1;"
                                   " done; cat /root-of-neighbour; echo unharmed", memory="64Mi",
                                   before="echo mine > /root-of-neighbour; ")
        until(lambda: os.path.exists(cls.volume + "/alive"), 30, "the neighbour to run")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root)

    @classmethod
    def mounted(cls):
        with open("/proc/self/mounts") as file:
            return sorted(file)

    @classmethod
    def container(cls, **more):
        return {"image": "small", "volumes": [
            {"source": cls.volume, "target": "/volume", "writable": True},
            {"source": cls.root + "/volumes/readonly", "target": "/readonly"}], **more}

    @classmethod
    def run_in(cls, script, memory="128Mi", before="", **container):
        return cls.cluster.submit({"command": ["/bin/sh", "-c", before + script], "memory": memory,
                                   "container": cls.container(**container)})

    def ended(self, job):
        found = self.cluster.wait(job, 60)
        return found, self.cluster.logs(job)

    def alive(self):
        """Whether the neighbour still counts."""
        def count():
            with open(self.volume + "/alive") as file:
                return file.read()
        before = count()
        until(lambda: count() != before, 10, "the neighbour to go on")

    def neighbours_pid(self):
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    text = file.read()
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    shell = file.read().startswith(b"/bin/sh")
            except OSError:
                continue
            if shell and f"DOVE_JOB_ID={self.neighbour}\0".encode() in text:
                return entry
        self.fail("the neighbour has no process")

    def test_1_attempts_are_refused(self):
        with open("/marker-of-the-machine", "w") as file:
            file.write("seen\n")
        try:
            job = self.cluster.submit({"command": ["/bin/escapes", self.neighbours_pid(), "/volume"],
                                       "container": self.container()})
            found, log = self.ended(job)
        finally:
            os.unlink("/marker-of-the-machine")
        self.assertEqual(found["state"], "completed", log)
        lines = log.splitlines()
        self.assertEqual([line for line in lines if "refused" not in line], [])
        self.assertGreaterEqual(len(lines), ATTEMPTS_MIN)
        print(f"{len(lines)} attempts refused")
        self.alive()

    def test_2_root_inside_is_nobody_outside(self):
        found, log = self.ended(self.run_in("id -u; cat /proc/self/uid_map; echo x > /volume/owned"))
        self.assertEqual(found["state"], "completed", log)
        self.assertEqual(log.splitlines()[0], "0")
        self.assertGreater(int(log.splitlines()[1].split()[1]), 1 << 20)
        self.assertGreater(os.stat(self.volume + "/owned").st_uid, 1 << 20)

    def test_3_the_root_directory_vanishes(self):
        found, _ = self.ended(self.run_in("echo x > /left-behind; cat /left-behind"))
        self.assertEqual(found["state"], "completed")
        _, log = self.ended(self.run_in("ls /left-behind /root-of-neighbour 2>&1; true"))
        self.assertEqual(log.count("No such file"), 2, log)
        found, log = self.ended(self.run_in("(echo x > /x) 2>&1", read_only=True))
        self.assertIn("Read-only", log)

    def test_4_volumes_do_not_lead_out(self):
        for source in (self.root + "/volumes/leads-out", self.root + "/elsewhere", "/etc",
                       self.root + "/volumes/../elsewhere"):
            job = self.cluster.submit({"command": ["true"], "container": {
                "image": "small", "volumes": [{"source": source, "target": "/v"}]}})
            found = self.cluster.wait(job, 60)
            self.assertNotEqual(found["state"], "completed", source)

    def test_5_shared_memory_has_a_size(self):
        found, log = self.ended(self.run_in("dd if=/dev/zero of=/dev/shm/x bs=1M count=40 2>&1", shm="8Mi"))
        self.assertIn("No space", log)
        self.assertEqual(found["state"], "failed")

    def test_6_the_disk_has_a_size(self):
        _, log = self.ended(self.run_in("dd if=/dev/zero of=/fill bs=1M count=100 2>&1", memory="256Mi"))
        self.assertIn("No space", log)
        self.alive()

    def test_7_memory_has_a_limit(self):
        job = self.run_in("dd if=/dev/zero of=/dev/null bs=200M count=1; exit $?", memory="32Mi")
        found, _ = self.ended(job)
        causes = [exit.get("cause", "") for attempt in found["attempts"] for exit in attempt["exits"]]
        self.assertTrue(causes and re.match("out_of_memory: peak 3[2-9] MiB, limit 32 MiB", causes[-1]), found)
        self.alive()

    def test_8_processes_have_a_limit(self):
        # Its memory ends first where a limit of processes would let it grow on.
        job = self.run_in("f() { f | f & }; f; sleep 3; exit 0", memory="64Mi")
        self.ended(job)
        self.alive()

    def test_9_the_neighbour_was_not_harmed(self):
        with open(self.volume + "/stop", "w"):
            pass
        found, log = self.ended(self.neighbour)
        self.assertEqual(found["state"], "completed")
        self.assertEqual(log, "mine\nunharmed\n")
        self.assertEqual(self.mounted(), self.mounts)
        data = os.path.join(self.cluster.folder, f"nodes/{NODE}/containers")
        self.assertEqual([name for name in os.listdir(data) if name != ".runtime"], [])
        left = []
        for folder, directories, _ in os.walk("/sys/fs/cgroup"):
            left += [f"{folder}/{name}" for name in directories if name.startswith(NODE + ".")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    if why := cannot_run():
        print("skipped:", why)
        sys.exit(SKIP)
    unittest.main(verbosity=2)
