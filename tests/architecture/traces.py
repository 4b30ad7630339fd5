#!/usr/bin/env python3
"""tools/traces keeps only what has the digest it expects, and a benchmark without its data says what it needs."""
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

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
        for file in ("bench/traces.py", "bench/figure.py", "bench/openb", "bench/openb_runs.py", "bench/muri",
                     "bench/muri_runs.py", "bench/philly", "tools/traces", "tests/e2e/cluster.py", "tests/e2e/contract.py"):
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
            file.write(f'SETS = {{"openb": {{**SETS["openb"], "files": {{"a.csv": "{sha256}"}}, "made": {{}}}}}}\n')
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
