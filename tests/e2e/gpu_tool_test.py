#!/usr/bin/env python3
"""tools/gpu on a machine of fake GPUs records what it saw; without GPUs it skips."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

from cluster import DOVE, ROOT

FAKE = os.path.join(os.environ.get("DOVE_BUILD_DIR", "build/release"), "src/libdevices.nvml_fake.so")


class GpuTool(unittest.TestCase):
    def tool(self, *arguments, **environment):
        return subprocess.run([sys.executable, ROOT + "/tools/gpu", *arguments], capture_output=True, text=True, timeout=200,
                              env={**os.environ, "DOVE": DOVE, **environment})

    def test_fake_gpus_are_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/gpus", "w") as file:
                file.write("driver 550.54.15\ngpus 2 NVIDIA H100 80GB HBM3\n")
            done = self.tool("--nvml", os.path.abspath(FAKE), "--record", folder + "/runs.md", DOVE_FAKE_NVML=folder + "/gpus")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(folder + "/runs.md") as file:
                text = file.read()
        self.assertIn("| devices are found | passed | 2: nvidia H100 79 GiB |", text)
        self.assertIn("| no findings | passed | none |", text)
        self.assertRegex(text, r"readings of devices \| passed \| \d\d fields")

    @unittest.skipIf(glob.glob("/dev/nvidia[0-9]*") or os.path.exists("/dev/kfd"), "there are GPUs here")
    def test_without_a_gpu_it_says_so(self):
        done = self.tool()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("skipped: this machine has no GPU", done.stdout)


if __name__ == "__main__":
    unittest.main()
