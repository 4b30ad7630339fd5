#!/usr/bin/env python3
"""A task with a share of a GPU gets no more of its memory, whichever way it asks the driver: libdove-share.so between a
program (uses_cuda.c) and a driver that exists in numbers only (fake_cuda.c). Then the same through a cluster."""
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

from cluster import DOVE, Cluster, until
from isolation_test import cannot_run, make_image

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(os.path.dirname(DOVE), "libdove-share.so")
WAYS = ["linked", "dlsym", "entry"]
FIRST = "GPU-" + "01010101-0101-0101-0101-010101010101"  # of the fake driver's devices
SECOND = FIRST.replace("01", "02")
GIB = 1 << 30


def build(folder):
    """A driver and programs that use it, in the folder."""
    def cc(*arguments):
        subprocess.run(["cc", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", *arguments], check=True)
    driver, uses = HERE + "/fake_cuda.c", HERE + "/uses_cuda.c"
    cc("-shared", "-fPIC", "-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1", "-o", folder + "/libcuda.so.1", driver)
    cc("-o", folder + "/uses_cuda", uses, "-ldl")
    cc("-DLINKED", "-o", folder + "/uses_cuda_linked", uses, "-L" + folder, "-l:libcuda.so.1")


def command(folder, way, words):
    return [folder + ("/uses_cuda_linked" if way == "linked" else "/uses_cuda"), way, *words.split()]


class Library(unittest.TestCase):
    """The library by itself."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dove-shares.")
        self.addCleanup(shutil.rmtree, self.folder)
        build(self.folder)

    def environment(self, caps=f"{FIRST}={GIB}:{GIB}", task=1, **more):
        return {**os.environ, "LD_LIBRARY_PATH": self.folder, "LD_PRELOAD": LIBRARY, "DOVE_SHARE_CAPS": caps,
                "DOVE_SHARE_FILE": self.folder + "/file", "DOVE_SHARE_TASK": str(task), **more}

    def start(self, way, words, stdin=None, **more):
        return subprocess.Popen(command(self.folder, way, words), env=self.environment(**more), stdin=stdin,
                                stdout=subprocess.PIPE, text=True)

    def said(self, way, words, **more):
        process = self.start(way, words, **more)
        out = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 0)
        return out.split("\n")[:-1]

    def holder(self, words, **more):
        """A process that has done as told and holds what it took."""
        process = self.start("entry", words + " hold", **more)
        said = []
        while not said or said[-1] != "held":
            said.append(process.stdout.readline().strip())
            self.assertNotEqual(said[-1], "", said)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait(10)
            process.stdout.close()
        self.addCleanup(end)
        process.said = said[:-1]
        return process

    def test_the_cap_holds_whichever_way_the_driver_is_found(self):
        for way in WAYS:
            for take in ["alloc", "managed", "async", "thread", "pitch"]:
                with self.subTest(way=way, take=take):
                    said = self.said(way, f"{take}=600 {take}=600 info free {take}=1024 {take}=1 info")
                    self.assertEqual(said, ["ok", "oom", "424 1024", "done", "ok", "oom", "0 1024"])

    def test_the_cap_is_the_device(self):
        for way in WAYS:
            self.assertEqual(self.said(way, "info total"), ["1024 1024", "1024"])

    def test_mapped_memory_counts_until_its_last_holder_is_gone(self):
        for way in WAYS:
            said = self.said(way, "create=1024 map release alloc=1 unmap alloc=1024")
            self.assertEqual(said, ["ok", "done", "done", "oom", "done", "ok"])

    def test_what_ends_with_its_context_is_given_back(self):
        for way in WAYS:
            said = self.said(way, "alloc=1000 destroy alloc=1000 free reset alloc=1000 reset alloc=1000")
            self.assertEqual(said, ["ok", "done", "ok", "done", "done", "ok", "done", "ok"])

    def test_processes_of_a_task_share_its_cap_and_one_that_is_killed_gives_back(self):
        one = self.holder("alloc=600")
        self.assertEqual(one.said, ["ok"])
        self.assertEqual(self.said("dlsym", "info alloc=600 alloc=400"), ["424 1024", "oom", "ok"])
        one.send_signal(signal.SIGKILL)
        one.wait(10)
        self.assertEqual(self.said("dlsym", "alloc=1024"), ["ok"])
        self.assertEqual(self.said("linked", "info"), ["1024 1024"])

    def test_a_process_that_was_killed_gives_back_before_its_parent_asks_for_it(self):
        one = self.holder("alloc=600")
        one.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual(self.said("dlsym", "alloc=1024"), ["ok"])

    def test_a_process_gives_back_though_somebody_else_has_its_number_by_now(self):
        if os.geteuid() != 0:
            self.skipTest("only root has processes that others may not signal")
        slot = struct.pack("=iIQQ16Q", os.getpid(), 1, 1, os.stat("/proc/self/ns/pid").st_ino, 600 << 20, *[0] * 15)
        with open(self.folder + "/file", "wb") as file:
            file.write(slot.ljust(512 * len(slot), b"\0"))
        for path in (self.folder, file.name):
            os.chmod(path, 0o777)
        out = subprocess.run(command(self.folder, "dlsym", "alloc=600"), env=self.environment(), user=65534, timeout=60,
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(out, "ok\n")

    def inside(self, words):
        """A process that holds 600 MiB in a process namespace of its own, and says what it is asked to."""
        if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
            self.skipTest("process namespaces cannot be made here")
        environment = self.environment()
        preload = "LD_PRELOAD=" + environment.pop("LD_PRELOAD")
        inside = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "env", preload,
                                   *command(self.folder, "dlsym", words)], env=environment, stdout=subprocess.PIPE, text=True)

        def end():
            inside.kill()
            inside.wait(10)
            inside.stdout.read()  # the end comes with the last process inside
            inside.stdout.close()
        self.addCleanup(lambda: inside.stdout.closed or end())
        self.assertEqual([inside.stdout.readline().strip() for _ in range(2)], ["ok", "held"])
        return end

    def test_a_killed_process_of_another_process_namespace_gives_back(self):
        end = self.inside("alloc=600 hold")
        self.assertEqual(self.said("dlsym", "alloc=600"), ["oom"], "it is alive")
        end()
        self.assertEqual(self.said("dlsym", "alloc=600"), ["ok"])

    def test_a_process_that_writes_over_its_environment_counts(self):
        self.inside("title alloc=600 hold")
        self.assertEqual(self.said("dlsym", "alloc=600"), ["oom"])

    def test_what_a_process_took_before_execve_is_given_back(self):
        before = self.holder("alloc=100")  # whose place in the file comes first
        one = self.start("entry", "alloc=600 wait exec alloc=1024", stdin=subprocess.PIPE)
        self.addCleanup(one.communicate)
        self.assertEqual([one.stdout.readline().strip() for _ in range(2)], ["ok", "waiting"])
        before.kill()
        before.wait(10)
        self.assertEqual(self.said("dlsym", "info"), ["424 1024"])
        self.assertEqual(one.communicate("\n", timeout=60)[0], "ok\n")

    def test_a_program_that_asks_for_memory_too_early_is_capped_later(self):
        for way in WAYS:
            self.assertEqual(self.said(way, "early=1 create=2000 create=1000"), ["error 3", "oom", "ok"])

    def test_a_child_holds_nothing_of_its_parent_and_counts_beside_it(self):
        self.assertEqual(self.said("entry", "alloc=600 fork info alloc=600 alloc=400"),
                         ["ok", "424 1024", "oom", "ok"])

    def test_a_child_goes_on_though_its_parent_was_killed_while_it_counted(self):
        # Many processes, so that counting them is most of what the parent does.
        slot = struct.pack("=iIQQ16Q", os.getpid(), 9, 0, os.stat("/proc/self/ns/pid").st_ino, *[0] * 16)
        for _ in range(10):
            with open(self.folder + "/file", "wb") as file:
                file.write((slot * 500).ljust(512 * len(slot), b"\0"))
            parent = self.start("entry", "alloc=600 crash alloc=600 alloc=400 hold")
            self.addCleanup(parent.stdout.close)
            self.assertEqual(parent.wait(60), -signal.SIGKILL)
            said = ""
            while "held" not in said and select.select([parent.stdout], [], [], 20)[0]:
                said += os.read(parent.stdout.fileno(), 4096).decode()
            first, child, *rest = said.split()
            try:
                self.assertEqual([first, *rest], ["ok", "ok", "ok", "held"], "the child waits for what it holds itself")
                self.assertEqual(self.said("dlsym", "alloc=24 alloc=1"), ["ok", "oom"])
            finally:
                os.kill(int(child), signal.SIGKILL)

    def test_tasks_of_an_attempt_have_a_cap_each_and_one_together(self):
        caps = f"{FIRST}={GIB}:{GIB * 3 // 2}"
        one = self.holder("alloc=1024", caps=caps, task=1)
        self.assertEqual(one.said, ["ok"])
        self.assertEqual(self.said("dlsym", "info alloc=600 alloc=512", caps=caps, task=2),
                         ["512 1024", "oom", "ok"])

    def test_the_device_is_known_by_its_uuid_and_others_have_no_cap(self):
        both = f"{FIRST}={GIB},{SECOND}={2 * GIB}"
        self.assertEqual(self.said("dlsym", "info", caps=both, CUDA_VISIBLE_DEVICES="1"), ["2048 2048"])
        self.assertEqual(self.said("dlsym", "info", caps=f"{SECOND}={GIB}"), ["81920 81920"])
        self.assertEqual(self.said("dlsym", "info alloc=2000", caps=f"emulated-0={GIB}"), ["1024 1024", "oom"])

    def test_without_a_cap_nothing_is_changed(self):
        self.assertEqual(self.said("entry", "info alloc=70000 total", caps=""), ["81920 81920", "ok", "81920"])
        self.assertFalse(os.path.exists(self.folder + "/file"))

    def test_a_task_that_cannot_see_the_file_is_capped_by_process(self):
        process = self.start("dlsym", "alloc=600 alloc=600", DOVE_SHARE_FILE="/nowhere/at/all")
        self.assertEqual(process.communicate(timeout=60)[0].split(), ["ok", "oom"])

    def test_dlsym_answers_by_who_asks(self):
        for way in WAYS:
            self.assertEqual(self.said(way, "next"), ["nobody"])

    def test_it_needs_no_library_and_none_of_a_certain_age(self):
        dynamic = subprocess.run(["readelf", "-d", "--dyn-syms", "-W", LIBRARY], capture_output=True, text=True).stdout
        self.assertNotIn("NEEDED", dynamic)
        self.assertNotIn("GLIBC", dynamic)


class Tasks(unittest.TestCase):
    """Tasks of a cluster whose two devices are the fake driver's."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dove-shares.")
        os.chmod(cls.folder, 0o755)
        build(cls.folder)
        cls.pipes = cls.folder + "/mps"
        os.mkdir(cls.pipes)
        with open(cls.folder + "/inventory.yaml", "w") as file:
            file.write("cores: 8\nmemory: 16Gi\ndevices:\n"
                       f"- {{model: H100, memory: 80Gi, uuid: {FIRST}}}\n- {{model: H100, memory: 80Gi, uuid: {SECOND}}}\n")
        cls.cluster = Cluster(gpus=None, agent_options=["--inventory", cls.folder + "/inventory.yaml", "--mps", cls.pipes,
                                                        "--images", cls.folder + "/images"])
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def submit(self, words, **more):
        """A task that uses the driver as the words say, after it has said by whom it is held."""
        script = f'echo $DOVE_DEVICE_SHARE_BY; exec {" ".join(command(self.folder, "entry", words))}'
        return self.cluster.submit({"name": "shared", "command": ["bash", "-c", script],
                                    "environment": {"LD_LIBRARY_PATH": self.folder}, **more})

    def said(self, *arguments, **more):
        job = self.submit(*arguments, **more)
        found = self.cluster.wait(job)
        self.assertEqual(found["state"], "completed", self.cluster.logs(job))
        return self.cluster.logs(job).split("\n")[:-1], found

    def mps_is(self, pid):
        with open(self.pipes + "/nvidia-cuda-mps-control.pid", "w") as file:
            file.write(f"{pid}\n")
        self.addCleanup(os.unlink, file.name)

    def test_a_share_is_what_a_task_gets_of_the_memory(self):
        said, job = self.said("info alloc=21000 alloc=20000", share_milli=250)
        self.assertEqual(said, ["library", "20480 20480", "oom", "ok"])
        self.assertEqual(job["shares"], {"node1": "library"})
        shown = self.cluster.run("show", str(job["id"])).stdout
        self.assertIn("held by libdove-share.so, which a program can go around", shown)

    def test_a_whole_device_has_no_cap(self):
        said, job = self.said("info", gpus=1)
        self.assertEqual(said, ["", "81920 81920"])
        self.assertNotIn("shares", job)

    def test_two_tasks_of_a_job_have_their_own_caps(self):
        job = self.submit("alloc=20000 hold", share_milli=250, tasks=2)
        until(lambda: all("held" in self.cluster.logs(job, rank=rank) for rank in (0, 1)), 30, "both to hold their share")
        for rank in (0, 1):
            self.assertIn("ok", self.cluster.logs(job, rank=rank))
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})
        self.cluster.wait(job)

    def test_steps_share_what_their_job_holds(self):
        uses = " ".join(command(self.folder, "dlsym", "alloc=30000 alloc=12000"))
        script = f"#!/bin/bash\n{uses}\nsrun {uses}\n"
        job = self.cluster.submit({"name": "steps", "script": script, "share_milli": 500,
                                   "environment": {"LD_LIBRARY_PATH": self.folder}})
        self.assertEqual(self.cluster.wait(job)["state"], "completed", self.cluster.logs(job))
        self.assertEqual(self.cluster.logs(job).split(), ["ok", "oom"] * 2)

    def test_mps_is_told_the_share_where_its_daemon_lives(self):
        self.mps_is(os.getpid())
        script = "env | grep -e CUDA_MPS -e SHARE_BY | sort"
        job = self.cluster.submit({"name": "mps", "command": ["bash", "-c", script], "share_milli": 250})
        found = self.cluster.wait(job)
        logs = self.cluster.logs(job)
        uuid = FIRST if FIRST in logs else SECOND
        self.assertEqual(logs.split(), ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25",
                                        f"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT={uuid}=20480M",
                                        "CUDA_MPS_PIPE_DIRECTORY=" + self.pipes, "DOVE_DEVICE_SHARE_BY=mps"])
        self.assertEqual(found["shares"], {"node1": "mps"})
        self.assertIn("held by MPS", self.cluster.run("show", str(job)).stdout)

    def test_an_agent_that_is_restarted_still_says_who_holds_a_running_task(self):
        job = self.submit("hold", share_milli=250)
        until(lambda: "held" in self.cluster.logs(job), 30, "the task")
        agent = self.cluster.agents["node1"]
        agent.kill()
        agent.wait(10)
        self.mps_is(os.getpid())  # too late for this one
        self.cluster.server.kill()
        self.cluster.server.wait(10)
        self.cluster.start_server()
        self.cluster.start_agent("node1")
        self.cluster.wait_connected()
        shares = lambda: self.cluster.api.call("GET", f"/v1/jobs/{job}").get("shares")
        until(lambda: shares() == {"node1": "library"}, 20, "the agent to say it again")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel", {})
        self.cluster.wait(job)

    @unittest.skipIf(cannot_run(), cannot_run())
    def test_a_container_is_held_to_its_share(self):
        image = make_image(self.folder + "/images/cuda")
        shutil.copy(self.folder + "/uses_cuda", image)
        # What a linked program needs, where its loader looks without being told.
        linked = subprocess.run(["ldd", self.folder + "/uses_cuda"], capture_output=True, text=True, check=True).stdout
        for library in [self.folder + "/libcuda.so.1", *(word for word in linked.split() if word.startswith("/"))]:
            for folder in ("/lib64", "/lib/x86_64-linux-gnu"):
                os.makedirs(image + folder, exist_ok=True)
                shutil.copy(library, image + folder)
        job = self.cluster.submit({"name": "contained", "share_milli": 250, "container": {"image": "cuda"},
                                   "command": ["/bin/sh", "-c", "exec 2>&1; /uses_cuda entry info alloc=21000 alloc=20000"]})
        found = self.cluster.wait(job)
        self.assertEqual(found["state"], "completed", self.cluster.logs(job) + json.dumps(found))
        self.assertEqual(self.cluster.logs(job).split("\n")[:-1], ["20480 20480", "oom", "ok"])


if __name__ == "__main__":
    unittest.main()
