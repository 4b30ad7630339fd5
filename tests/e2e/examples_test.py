#!/usr/bin/env python3
"""The examples, submitted as their README says, from a copy so that nothing is left in the project."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from cluster import DOVE, ROOT, SKIP, Cluster, until

HAS_NUMPY = subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0
TORCH_PYTHON = os.environ.get("DOVE_TORCH_PYTHON", "/usr/bin/python3")  # make test-torch names one that has torch
HAS_TORCH = TORCH_PYTHON != "/usr/bin/python3" or subprocess.run([TORCH_PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
HAS_MPI = shutil.which("mpicc") is not None and shutil.which("mpirun") is not None


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, gpus=2, cores=4).__enter__()
        cls.copy = os.path.join(cls.cluster.folder, "examples")
        shutil.copytree(os.path.join(ROOT, "examples"), cls.copy, ignore=shutil.ignore_patterns("__pycache__", "pi"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def submit(self, folder, *arguments, name="dove"):
        """The id of a job submitted from a folder of the examples."""
        done = subprocess.run([sys.executable, "-c", "import os, sys; os.chdir(sys.argv[1]); "
                               "os.execv(sys.argv[2], sys.argv[3:])", os.path.join(self.copy, folder),
                               DOVE, name, *arguments],
                              capture_output=True, text=True, timeout=30,
                              env={**self.cluster.environment, "DOVE_DATA": self.cluster.data})
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(r"\d+", done.stdout)[0])

    def ended(self, job, limit_s=50):
        found = self.cluster.wait(job, limit_s)
        self.assertEqual(found["state"], "completed", self.cluster.logs(job)[-2000:])
        return found

    @unittest.skipUnless(HAS_MPI, "no Open MPI (mpicc, mpirun) here")
    def test_open_mpi_over_two_nodes(self):
        job = self.submit("mpi", "submit", "job.sh")
        found = self.ended(job)
        self.assertEqual(sorted(found["nodes"]), ["node1", "node2"])
        with open(os.path.join(self.copy, "mpi", f"pi-{job}.out")) as file:
            said = file.read()
        self.assertEqual(said, self.cluster.logs(job))
        self.assertIn("3.14159", said)
        self.assertRegex(said, r"\b4\b")  # ranks

    @unittest.skipUnless(HAS_NUMPY, "no numpy for /usr/bin/python3 here")
    def test_sweep_then_best(self):
        sweep = self.submit("sweep", "--parsable", "sweep.sh", name="sbatch")
        best = self.submit("sweep", "--parsable", f"--dependency=afterok:{sweep}", "best.sh", name="sbatch")
        self.ended(best)
        results = sorted(os.listdir(os.path.join(self.copy, "sweep/results")))
        self.assertEqual(results, [f"k{k}.json" for k in range(1, 9)])
        for task in range(8):
            self.assertTrue(os.path.exists(os.path.join(self.copy, f"sweep/knn-{sweep}_{task}.out")))
        with open(os.path.join(self.copy, f"sweep/knn-best-{best}.out")) as file:
            self.assertIn("best", file.read().lower())
        jobs = self.cluster.api.call("GET", f"/v1/jobs?ids={sweep}")["jobs"]
        self.assertEqual([job["state"] for job in jobs], ["completed"] * 8)

    @unittest.skipUnless(HAS_NUMPY, "no numpy for /usr/bin/python3 here")
    def test_digits_shortened(self):
        path = os.path.join(self.copy, "digits/tuxiv.conf")
        with open(path) as file:
            text = file.read()
        text = text.replace("--epochs=40", "--epochs=3").replace("--min-epoch-seconds=0.3", "--min-epoch-seconds=0")
        with open(path, "w") as file:
            file.write(text)
        job = self.submit("digits", "submit", ".")
        found = self.ended(job)
        self.assertEqual((found["name"], len(found["nodes"])), ("digits", 2))
        self.assertEqual([len(placed["devices"]) for placed in found["attempts"][0]["placements"]], [2, 2])
        accuracy = re.search(r"final accuracy: ([0-9.]+)", self.cluster.logs(job))
        self.assertGreater(float(accuracy[1]), 0.8)

    def submit_training(self, *arguments):
        return self.submit("checkpoint", "submit", f"--export=ALL,PYTHONPATH={ROOT}/python", "--chdir",
                           os.path.join(self.copy, "checkpoint"), *arguments)

    def train(self, program, *options, python="/usr/bin/python3", limit_s=40):
        """A training of examples/checkpoint, stopped in the middle and resumed: (what its attempts printed, its job)."""
        job = self.submit_training("--requeue", "--", python, program, *options)
        def has_saved():
            found = self.cluster.job(job)
            self.assertNotIn(found["state"], ("failed", "completed"), self.cluster.logs(job)[-2000:])
            return (found["progress"] or {}).get("step", 0) > 100
        until(has_saved, limit_s, "the training to get on")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/requeue")
        found = self.ended(job, limit_s + 10)
        self.assertEqual(len(found["attempts"]), 2)
        logs = [self.cluster.api.raw("GET", f"/v1/jobs/{job}/logs?rank=0&attempt={number}")[2].decode() for number in (1, 2)]
        self.assertNotIn("goes on", logs[0])
        self.assertRegex(logs[1], r"goes on after step \d+")
        return logs[1]

    @unittest.skipUnless(HAS_NUMPY, "no numpy for /usr/bin/python3 here")
    def test_a_training_goes_on_where_it_saved(self):
        said = self.train("train.py", "--steps", "20000", "--every", "50")
        self.assertLess(float(re.search(r"loss ([0-9.]+)", said)[1]), 0.5)

    def test_a_training_with_torch(self):
        if HAS_TORCH:
            said = self.train("train_torch.py", "--steps", "20000", "--every-s", "0.2", python=TORCH_PYTHON, limit_s=240)
            self.assertLess(float(re.search(r"loss ([0-9.]+)", said)[1]), 0.5)
            return
        # Without torch it says what is missing, in one line.
        job = self.submit_training("--", TORCH_PYTHON, "train_torch.py")
        self.assertEqual(self.cluster.wait(job)["state"], "failed")
        self.assertEqual(self.cluster.api.raw("GET", f"/v1/jobs/{job}/logs?stream=stderr")[2].decode(),
                         "torch is not installed where this job runs: give the job an image or an environment that has it\n")

    def test_a_function_is_mapped(self):
        done = subprocess.run([sys.executable, os.path.join(self.copy, "map/pi.py")], capture_output=True, text=True,
                              timeout=100, cwd=self.cluster.folder,
                              env={**self.cluster.environment, "DOVE_DATA": self.cluster.data,
                                   "DOVE_MAP_DIR": self.cluster.folder, "PYTHONPATH": os.path.join(ROOT, "python")})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^pi is about 3\.1[34]\d\n$")

    def test_every_example_is_understood(self):
        for name, fields in [("digits", {"name": "digits"}), ("mpi/job.sh", {"name": "pi"}),
                             ("sweep/sweep.sh", {"name": "knn"}), ("sweep/best.sh", {"name": "knn-best"})]:
            with self.subTest(name):
                done = self.cluster.run("submit", "--dry-run", "-o", "json", os.path.join(self.copy, name))
                found = json.loads(done.stdout)
                self.assertEqual({key: found[key] for key in fields}, fields)
                self.assertNotIn("no effect", done.stderr)


if __name__ == "__main__":
    if not HAS_MPI and not HAS_NUMPY and not HAS_TORCH:
        sys.exit(SKIP)
    sys.exit(unittest.main())
