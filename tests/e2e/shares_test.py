#!/usr/bin/env python3
"""A task with a share of a GPU gets no more of its memory, whichever way it asks the driver: libdove-share.so between a
program (uses_cuda.c) and a driver that exists in numbers only (fake_cuda.c). Then the same through a cluster."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from cluster import DOVE

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

    def start(self, way, words, caps=f"{FIRST}={GIB}:{GIB}", task=1, **more):
        environment = {**os.environ, "LD_LIBRARY_PATH": self.folder, "LD_PRELOAD": LIBRARY, "DOVE_SHARE_CAPS": caps,
                       "DOVE_SHARE_FILE": self.folder + "/file", "DOVE_SHARE_TASK": str(task), **more}
        return subprocess.Popen(command(self.folder, way, words), env=environment, stdout=subprocess.PIPE, text=True)

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

    def test_a_killed_process_of_another_process_namespace_gives_back(self):
        if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
            self.skipTest("process namespaces cannot be made here")
        words = command(self.folder, "dlsym", "alloc=600 hold")
        environment = {**os.environ, "LD_LIBRARY_PATH": self.folder, "DOVE_SHARE_CAPS": f"{FIRST}={GIB}",
                       "DOVE_SHARE_FILE": self.folder + "/file", "DOVE_SHARE_TASK": "1"}
        inside = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "env", "LD_PRELOAD=" + LIBRARY, *words],
                                  env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(inside.stdout.close)
        self.assertEqual([inside.stdout.readline().strip() for _ in range(2)], ["ok", "held"])
        self.assertEqual(self.said("dlsym", "alloc=600"), ["oom"], "it is alive")
        inside.kill()
        inside.wait(10)
        inside.stdout.read()  # the end comes with the last process inside
        self.assertEqual(self.said("dlsym", "alloc=600"), ["ok"])

    def test_a_child_holds_nothing_of_its_parent_and_counts_beside_it(self):
        self.assertEqual(self.said("entry", "alloc=600 fork info alloc=600 alloc=400"),
                         ["ok", "424 1024", "oom", "ok"])

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


if __name__ == "__main__":
    unittest.main()
