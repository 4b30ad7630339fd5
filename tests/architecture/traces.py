#!/usr/bin/env python3
"""tools/traces keeps only what has the digest it expects, and a benchmark without its data says what it needs."""
import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import trace_tables  # noqa: E402  (bench/trace_tables.py)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Traces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dove-traces.")
        self.addCleanup(shutil.rmtree, self.folder)
        # A checkout of its own, so that nothing beside this one is found.
        self.checkout = os.path.join(self.folder, "checkout")
        for part in ("bench", "tools", "tests/e2e"):
            os.makedirs(os.path.join(self.checkout, part))
        for file in ("bench/traces.py", "bench/trace_tables.py", "bench/figure.py", "bench/openb", "bench/openb_runs.py",
                     "bench/muri", "bench/muri_runs.py", "bench/philly", "tools/traces", "tests/e2e/cluster.py",
                     "tests/e2e/contract.py", "tests/e2e/recording_relay.py"):
            shutil.copy(os.path.join(ROOT, file), os.path.join(self.checkout, file))
        self.environment = {name: value for name, value in os.environ.items() if name not in ("OPENB", "MURI", "PHILLY")}
        self.environment.update(XDG_CACHE_HOME=os.path.join(self.folder, "cache"), DOVE="/nowhere/dove")

    def serve(self):
        handler = functools.partial(Quiet, directory=os.path.join(self.folder, "web"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.environment["DOVE_TRACES_SERVER"] = f"http://127.0.0.1:{server.server_port}"

    def publish(self, text, sha256):
        """One file of one set, of this digest, that the server gives as this text."""
        with open(os.path.join(self.checkout, "bench/traces.py"), "a") as file:
            file.write(f'SETS = {{"openb": {{**SETS["openb"], "files": {{"a.csv": "{sha256}"}}, "tables": {{}}, '
                       '"made": {}}}\n')
        at = os.path.join(self.folder, "web/alibaba/clusterdata/7a6c496e4f4b6ce6150be8f881cb051bf2abff42",
                          "cluster-trace-gpu-v2023/csv")
        os.makedirs(at)
        with open(os.path.join(at, "a.csv"), "w") as file:
            file.write(text)
        self.serve()

    def run_tool(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(self.checkout, name), *arguments], env=self.environment,
                              capture_output=True, text=True, timeout=60)

    def cached(self):
        return os.path.join(self.folder, "cache/dove/traces/openb/a.csv")

    def test_the_right_file_is_kept(self):
        self.publish("hello\n", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        done = self.run_tool("tools/traces", "openb")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.cached()) as file:
            self.assertEqual(file.read(), "hello\n")

    def test_another_file_is_thrown_away(self):
        self.publish("hello, changed\n", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        done = self.run_tool("tools/traces")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not 5891b5b522d5", done.stderr)
        self.assertFalse(os.path.exists(self.cached()))
        self.assertFalse(os.path.exists(self.cached() + ".new"))

    def test_what_lies_beside_the_checkout_is_taken(self):
        self.publish("from the web\n", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        near = os.path.join(self.folder, "shared/traces/openb")
        os.makedirs(near)
        with open(os.path.join(near, "a.csv"), "w") as file:
            file.write("hello\n")
        self.assertEqual(self.run_tool("tools/traces").returncode, 0)
        self.assertTrue(os.path.exists(self.cached()))

    def test_a_table_is_made_from_what_is_published(self):
        program = "".join(f"overhead_dict[{gpus}] = {dict.fromkeys(trace_tables.MURI_MODELS, gpus + 3)}\n" for gpus in (1, 2))
        wanted = ("# seconds that every running job loses at every event (arrival or first completion), by GPU count and "
                  "model\nnum_gpu,vgg16,vgg19,resnet18,shufflenet_v2_x1_0,bert,gpt2,a2c,dqn\n"
                  "1,4,4,4,4,4,4,4,4\n2,5,5,5,5,5,5,5,5\n")
        source, sha256 = (hashlib.sha256(text.encode()).hexdigest() for text in (program, wanted))
        with open(os.path.join(self.checkout, "bench/traces.py"), "a") as file:
            file.write(f'TABLE = {{**SETS["muri"]["tables"]["switch_overhead_s.csv"], "source": "{source}", '
                       f'"sha256": "{sha256}"}}\n'
                       'SETS = {"muri": {**SETS["muri"], "files": {}, "tables": {"switch_overhead_s.csv": TABLE}}}\n')
        at = os.path.join(self.folder, "web/Rivendile/Muri/4e69a78ce75f629a5a00abd48150a1860b341ce6/simulator")
        os.makedirs(at)
        with open(os.path.join(at, "run_sim.py"), "w") as file:
            file.write(program)
        self.serve()
        done = self.run_tool("tools/traces", "muri")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = os.path.join(self.folder, "cache/dove/traces/muri/switch_overhead_s.csv")
        with open(made) as file:
            self.assertEqual(file.read(), wanted)
        self.assertIn(f"SHA-256 {source}", self.run_tool("tools/traces", "--list").stdout)
        os.remove(made)
        with open(os.path.join(at, "run_sim.py"), "a") as file:
            file.write("import os\n")
        done = self.run_tool("tools/traces", "muri")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"not {source}", done.stderr)
        self.assertFalse(os.path.exists(made))

    def test_published_figures_of_policies_become_a_table(self):
        lists = "".join(f"{policy}_{figure}_raw = {[number + at / 8 for at in range(8)]}\n"
                        for policy in trace_tables.MURI_POLICIES.values()
                        for number, figure in enumerate(("JCT", "Makespan", "99JCT"), 1))
        made = trace_tables.muri_published("import numpy\n" + lists + "ratio = [a for a in SRTF_JCT_raw]\n").splitlines()
        self.assertEqual(len(made), 1 + 7 * 3)
        self.assertEqual(made[1], "trace3,SRTF,1.5,2.5,3.5")
        loads = {str(load): f"{load / 2}" for load in range(60, 131)}
        head = ["workload", "sc_policy", "seed", *loads]
        rows = [["openb_pod_list_cpu100", "06-FGD", "42", *loads.values()],
                ["openb_pod_list_cpu100", "06-FGD", "45", *loads.values()],
                ["openb_pod_list_cpu050", "06-FGD", "42", *loads.values()]]
        made = trace_tables.openb_per_seed("".join(",".join(row) + "\n" for row in [head, *rows])).splitlines()
        self.assertEqual(len(made), 2)
        self.assertTrue(made[1].startswith("cpu100,FGD,42,70.00,67.50,"), made[1])

    def test_a_server_that_is_not_there_is_one_line(self):
        self.environment["DOVE_TRACES_SERVER"] = "http://127.0.0.1:9"
        done = self.run_tool("tools/traces", "philly")
        self.assertEqual(done.returncode, 1)
        self.assertIn("philly.csv: http://127.0.0.1:9/siasosp23/artifacts/", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_a_bench_without_its_data_says_what_it_needs(self):
        for bench, words in [("openb", "github.com/alibaba/clusterdata, commit 7a6c496e4f4b"),
                             ("muri", "github.com/Rivendile/Muri, commit 4e69a78ce75f"),
                             ("philly", "github.com/siasosp23/artifacts, commit aaf7a0de7b6c")]:
            with self.subTest(bench):
                done = self.run_tool("bench/" + bench)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
                self.assertIn(f"tools/traces {bench}", done.stderr)
                self.assertIn(": SHA-256 ", done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                self.assertEqual(done.stdout, f"{bench}: no figure, its data is not here: short\n")

    def test_data_of_another_version_is_refused(self):
        near = os.path.join(self.folder, "shared/traces/philly")
        os.makedirs(near)
        with open(os.path.join(near, "philly.csv"), "w") as file:
            file.write("timestamp\n")
        done = self.run_tool("bench/philly")
        self.assertIn("philly.csv is not that version", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
