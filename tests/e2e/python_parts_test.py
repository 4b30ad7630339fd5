#!/usr/bin/env python3
"""The client of the Python package without a cluster: where it finds the server, how it fails, what it sends to tasks."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import venv

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python")
sys.path.insert(0, PACKAGE)

import dove  # noqa: E402
from dove import array_map, carried, endpoint, log_lines, submission, task  # noqa: E402

NAMES = ("DOVE_URL", "DOVE_DATA", "DOVE_TOKEN", "DOVE_TOKEN_FILE", "DOVE_JOB_TOKEN", "DOVE_CA_FILE", "DOVE_USER", "DOVE_INSECURE")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


class OwnEnvironment(unittest.TestCase):
    """Each test has a home of its own and none of the variables."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-parts.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        for name in (*NAMES, "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            os.environ.pop(name, None)
        os.environ["HOME"] = self.folder

    def fails(self, code, call, *arguments, **named):
        with self.assertRaises(dove.DoveError) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)


class WhereTheServerIs(OwnEnvironment):
    def data(self, name="data", url="http://127.0.0.1:7717", token="secret"):
        write(f"{self.folder}/{name}/url", url + "\n")
        write(f"{self.folder}/{name}/token", token + "\n")
        return f"{self.folder}/{name}"

    def found(self, **named):
        found = endpoint.find(**named)
        return found.url, found.token

    @unittest.skipIf(os.path.exists("/etc/dove/config.yaml") or os.path.exists("/var/lib/dove/server/url"), "one is here")
    def test_nowhere_says_where_it_looked(self):
        self.assertIn("dove up", self.fails("no_server", endpoint.find))
        self.assertIn("--data /no/such", self.fails("no_server", endpoint.find, data="/no/such"))

    def test_places_in_their_order(self):
        self.data(".local/state/dove", token="state")
        self.assertEqual(self.found(), ("http://127.0.0.1:7717", "state"))
        write(f"{self.folder}/other", "theirs")
        write(f"{self.folder}/.config/dove/config.yaml",
              f"# mine\nurl: 'http://b:1' # there\ntoken_file: {self.folder}/other\nlater: 1\n")
        self.assertEqual(self.found(), ("http://b:1", "theirs"))
        os.environ["DOVE_DATA"] = self.data(token="data")
        self.assertEqual(self.found(), ("http://127.0.0.1:7717", "data"))
        os.environ["DOVE_URL"] = "http://c:2/"  # both were named
        self.assertEqual(self.found(), ("http://c:2", "data"))
        del os.environ["DOVE_DATA"]
        self.assertEqual(self.found(), ("http://c:2", ""))  # a stored token goes nowhere else
        self.assertEqual(self.found(url="http://b:1/"), ("http://b:1", "theirs"))

    def test_tokens_in_their_order(self):
        os.environ["DOVE_DATA"] = self.data()
        os.environ["DOVE_JOB_TOKEN"] = "job"
        self.assertEqual(self.found()[1], "secret")  # another server than the one that started the task
        os.environ["DOVE_URL"] = "http://127.0.0.1:7717"
        self.assertEqual(self.found()[1], "job")
        os.environ["DOVE_TOKEN_FILE"] = write(f"{self.folder}/mine", "file\n")
        self.assertEqual(self.found()[1], "file")
        os.environ["DOVE_TOKEN"] = "variable"
        self.assertEqual(self.found()[1], "variable")
        self.assertEqual(self.found(token="given")[1], "given")
        del os.environ["DOVE_TOKEN"]
        os.environ["DOVE_TOKEN_FILE"] = "/no/such"
        self.fails("cannot_read", endpoint.find)

    def test_the_authority_is_that_of_the_data_directory(self):
        data = self.data(url="https://a:1")
        write(data + "/ca.pem", "x")
        self.assertEqual(endpoint.find(data=data).ca_file, data + "/ca.pem")
        os.environ["DOVE_CA_FILE"] = "/mine.pem"
        self.assertEqual(endpoint.find(data=data).ca_file, "/mine.pem")
        self.fails("bad_ca_file", dove.Client, data=data)

    def test_a_bad_configuration_names_its_line(self):
        for text, line in (("url: http://a\n- b\n", 2), ("\n  url: http://a\n", 2), ("url\n", 1)):
            write(f"{self.folder}/.config/dove/config.yaml", text)
            self.assertIn(f"config.yaml:{line}:", self.fails("bad_config", endpoint.find))

    def test_no_token_goes_over_the_network_in_the_clear(self):
        for url in ("http://gpu-head:7717", "http://127.example.org", "http://10.0.0.1:1", "http://[fe80::1]:1",
                    "https://a:1,http://b:1"):
            said = self.fails("insecure_url", dove.Client, url=url, token="secret")
            self.assertIn("DOVE_INSECURE=1", said)
            dove.Client(url=url, token="secret", insecure=True)
        for url in ("https://gpu-head:7717", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"):
            dove.Client(url=url, token="secret")
        dove.Client(url="http://gpu-head:7717")  # nothing that others must not read
        os.environ["DOVE_INSECURE"] = "1"
        dove.Client(url="http://gpu-head:7717", token="secret")

    def test_who_says_that_the_network_is_trusted(self):
        write(f"{self.folder}/theirs", "secret")
        config = f"url: http://gpu-head:7717\ntoken_file: {self.folder}/theirs\n"
        write(f"{self.folder}/.config/dove/config.yaml", config)
        self.fails("insecure_url", dove.Client)
        write(f"{self.folder}/.config/dove/config.yaml", config + "insecure: true\n")
        dove.Client()
        self.fails("insecure_url", dove.Client, url="http://another:7717", token="secret")
        # A server's own directory; what else is named beside it has to be trusted for itself.
        data = self.data(url="http://gpu-head:7717")
        dove.Client(data=data)
        self.fails("insecure_url", dove.Client, url="http://another:7717", data=data)

    def test_what_is_no_url(self):
        for url in ("gpu-head:7717", "ftp://a", "http://", "http://a:x"):
            self.fails("bad_url", dove.Client, url=url)


class Talks(OwnEnvironment):
    """With a server that answers as it is told."""

    def setUp(self):
        super().setUp()
        self.answers, self.asked = [], []
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                test.asked.append((self.command, self.path, dict(self.headers), body))
                status, text, headers = test.answers.pop(0)
                if status is None:
                    return  # the connection breaks
                self.send_response(status)
                for name, value in {"Content-Length": len(text), **headers}.items():
                    if value is not None:
                        self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,)).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.client = dove.Client(url=f"http://127.0.0.1:{self.server.server_port}", token="t", timeout_s=2, patience_s=2)

    def answer(self, status, value, **headers):
        self.answers.append((status, value if isinstance(value, bytes) else json.dumps(value).encode(), headers))

    ACCEPTED = {"id": 7, "ids": [7], "warnings": [], "log_head": 1}

    def test_a_submission_is_repeated_under_its_key(self):
        self.answer(None, b"")
        self.answer(503, {"code": "busy", "detail": "later"})
        self.answer(429, {"code": "rate_limited", "detail": "later"}, **{"Retry-After": "0"})
        self.answer(201, self.ACCEPTED)
        self.assertEqual(self.client.submit(["true"], gpus=1).id, "7")
        keys = {headers["Idempotency-Key"] for _, _, headers, _ in self.asked}
        self.assertEqual((len(self.asked), len(keys)), (4, 1))
        self.assertEqual(json.loads(self.asked[0][3]), {"command": ["true"], "name": "true", "gpus": 1})
        self.assertEqual(self.asked[0][2]["Authorization"], "Bearer t")

    def test_a_refusal_says_all_that_the_server_says(self):
        self.answer(400, {"code": "unknown_field", "detail": "there is no field gpu; did you mean gpus?", "field": "gpu"})
        with self.assertRaises(dove.ApiError) as caught:
            self.client.submit(["true"], gpu=1)
        error = caught.exception
        self.assertEqual((error.status, error.code, error.field), (400, "unknown_field", "gpu"))
        self.assertIn("did you mean gpus", str(error))
        self.answer(502, b"<html>")
        self.answer(401, b"")
        with self.assertRaises(dove.ApiError) as caught:
            self.client.job(7)
        self.assertEqual(caught.exception.code, "http_401")
        self.assertIn("DOVE_TOKEN", str(caught.exception))

    def test_patience_ends(self):
        client = dove.Client(url=self.client.api.endpoint.url, patience_s=0.3)
        for _ in range(20):
            self.answer(503, {"code": "stopping", "detail": "it ends"})
        begin = time.monotonic()
        self.fails("stopping", client.job, 1)
        self.assertLess(time.monotonic() - begin, 2)

    def test_answers_that_are_none(self):
        self.answer(200, b"<html>")
        self.fails("bad_answer", self.client.job, 1)
        self.answer(200, b"{}", **{"Content-Length": "10"})  # shorter than it says
        self.answer(200, {"attempts": []})
        self.assertEqual(self.client.job(1).id, "1")

    def test_a_server_that_was_never_there_is_not_waited_for(self):
        begin = time.monotonic()
        self.assertIn("is `dove server` or `dove up` running?",
                      self.fails("connection_refused", dove.Client(url="http://127.0.0.1:1").submit, ["true"]))
        self.assertLess(time.monotonic() - begin, 2)

    def stream(self, text):
        """A stream that ends as its server does."""
        self.answer(200, text, **{"Content-Length": None})

    def test_a_wait_that_the_server_ends_is_asked_again(self):
        self.stream(b"\n\n")
        self.stream(b"")
        self.answer(503, {"code": "stopping", "detail": "it ends"})
        self.stream(b'\n{"jobs": 2, "exit_code": 1, "not_completed": [{"id": "5_1", "state": "timed_out", "exit_code": 0}]}\n')
        self.assertEqual(dove.Job(self.client.api, 5).wait(30), "timed_out")
        self.assertEqual({path for _, path, _, _ in self.asked}, {"/v1/jobs/5/wait?until=ended"})
        self.stream(b'{"jobs": 0, "exit_code": 0, "not_completed": []}\n')
        self.fails("no_such_job", dove.Job(self.client.api, 5).wait)

    def test_a_log_goes_on_where_it_broke(self):
        def attempt(stage):
            self.answer(200, {"attempt": 2, "attempts": [{"number": 1, "stage": "ended"}, {"number": 2, "stage": stage}]})

        self.stream(b'{"jobs": 1, "exit_code": 0, "not_completed": []}\n')
        attempt("running")
        attempt("running")
        self.stream("one\ntwo \u00fc".encode()[:-1])  # in the middle of a letter
        attempt("running")
        self.answer(503, {"code": "node_unreachable", "detail": "later"})
        attempt("ended")
        self.stream("\u00fc\nend".encode()[1:])
        attempt("ended")
        self.stream(b"")
        self.assertEqual(list(dove.Job(self.client.api, 5).logs(follow=True)), ["one", "two \u00fc", "end"])
        paths = [path for _, path, _, _ in self.asked if "/logs" in path]
        self.assertEqual(paths, [f"/v1/jobs/5/logs?rank=0&attempt=2&follow=1{offset}" for offset in
                                 ("", "&offset=9", "&offset=9", "&offset=14")])

    def test_warnings_of_the_server_are_warnings(self):
        self.answer(201, {**self.ACCEPTED, "warnings": ["no node has that"]})
        with self.assertWarnsRegex(dove.DoveWarning, "no node has that") as caught:
            self.client.submit(["true"])
        self.assertEqual(caught.filename, __file__)

    def test_what_is_no_job(self):
        for what, error in ((len, TypeError), ([], TypeError), ([1], TypeError), ("no such file", dove.DoveError)):
            with self.assertRaises(error):
                self.client.submit(what)
        self.assertIn('["python3", "a.py"]', self.fails("cannot_read", self.client.submit, "python3 a.py"))
        self.fails("bad_json", self.client.submit, write(f"{self.folder}/job.json", "{"))
        self.fails("wrong_type", self.client.submit, write(f"{self.folder}/job.json", "[]"))
        os.environ["PATH"] = ""
        self.fails("no_program", self.client.submit, write(f"{self.folder}/job.sh", "#!/bin/sh\n"))
        self.assertEqual(self.asked, [])


class Lines(unittest.TestCase):
    def test_bytes_come_as_they_like(self):
        splitter = log_lines._Splitter()
        lines = [line for byte in "a\nü\n\nend".encode() for line in splitter.feed(bytes([byte]))]
        self.assertEqual(lines + list(splitter.feed(b"", final=True)), ["a", "ü", "", "end"])
        self.assertEqual(list(log_lines._Splitter().feed(b"\xff\n")), ["\ufffd"])
        long = log_lines._Splitter()
        self.assertEqual([len(line) for line in long.feed(b"x" * (log_lines._LINE_CHARACTERS_MAX + 1))],
                         [log_lines._LINE_CHARACTERS_MAX + 1])


class Tasks(OwnEnvironment):
    """What map() puts into its folder, run as its tasks run it."""

    def program(self, text, name="script.py", options=()):
        """What a script prints that has `through(function, items)`: map() without a cluster."""
        prelude = """
            import os, subprocess, sys, json
            from dove import array_map, carried, task
            def through(function, items, chunk=1):
                folder = os.path.join(os.environ["HOME"], "map")
                os.mkdir(folder)
                count, chunk = array_map._write_work(folder, function, items, chunk)
                class Answers:  # of elements that have ended
                    def get(self, path, **_):
                        return {"outcome": "failed", "exit_code": task.RAISED, "state": "failed", "attempts": []}
                class Array:
                    id = "5"
                    wait = lambda *_: "failed"
                for element in range(-(-count // chunk)):
                    subprocess.run([sys.executable, "-m", "dove.task", folder], check=False,
                                   env={**os.environ, "SLURM_ARRAY_TASK_ID": str(element), "DOVE_NODE": "n1"})
                results = array_map.Results(Answers(), Array(), folder, count, chunk, True)
                array_map.Job.wait = lambda *_: "failed"
                return results
        """
        text = textwrap.dedent(prelude) + textwrap.dedent(text)
        path = write(f"{self.folder}/{name}", text)
        return subprocess.run([sys.executable, *(options or [path])], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": PACKAGE, "HOME": self.folder}, cwd=self.folder, input=text)

    def said(self, *arguments, **named):
        done = self.program(*arguments, **named)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.strip()

    def test_functions_by_name_and_by_code(self):
        write(f"{self.folder}/beside.py", "def twice(n):\n    return 2 * n\n")
        for function in ("beside.twice", "of_script", "lambda n: n * factor + of_script(0)", "around(2)", "fact"):
            with self.subTest(function):
                self.said(f"""
                    import beside, shutil
                    factor = 2
                    def of_script(n):
                        return n * factor
                    def around(by):
                        def inner(n, *, one=1):
                            return n * by * one
                        return inner
                    def loop():
                        def fact(n):
                            return 2 if n == 1 else n * fact(n - 1)
                        return fact
                    fact = loop()
                    if __name__ == "__main__":
                        found = list(through({function}, [1, 2]))
                        assert found == ([2, 4]), found
                        assert not os.path.exists(os.path.join(os.environ["HOME"], "map"))
                """)

    def test_an_interactive_session_has_no_script_to_load(self):
        self.assertEqual(self.said("""
            import math
            base = 3
            def power(n): return math.pow(base, n)
            def both(n): return power(n), (lambda m: m + base)(n)
            print(list(through(both, range(3))))
        """, options=("-",)), "[(1.0, 3), (3.0, 4), (9.0, 5)]")
        self.assertEqual(self.said("""
            import threading
            lock = threading.Lock()  # nobody's but ours: attributes are no globals
            calls = []
            def count(n): calls.append(n); return len(calls)
            def twice(n): count(n.lock); return count(n.lock), calls
            class Has: pass
            import types
            print(list(through(twice, [types.SimpleNamespace(lock=7)] * 2, chunk=2)))
        """), "[(2, [7, 7]), (4, [7, 7, 7, 7])]")  # a script without a guard
        done = self.program("class Own: pass\nlist(through(id, [Own()]))", options=("-",))
        self.assertIn("the class Own cannot be sent", done.stderr)

    def test_classes_of_the_script_come_back_as_they_are(self):
        self.assertEqual(self.said("""
            import dataclasses
            @dataclasses.dataclass
            class Point:
                x: int
            def moved(point): return Point(point.x + 1)
            if __name__ == "__main__":
                found = list(through(moved, [Point(1), Point(2)]))
                print(found == [Point(2), Point(3)], type(found[0]) is Point)
        """), "True True")

    def test_exceptions_are_told_with_all_that_is_known(self):
        self.assertEqual(self.said("""
            def inverse(n):
                return 1 / n
            if __name__ == "__main__":
                one, error, two = through(inverse, [1, 0, 2], chunk=2)
                print(one, two, error.index, error.job, error.node, error.code, error.message, type(error.__cause__).__name__,
                      "in inverse" in str(error), "script.py" in error.traceback)
        """), "1.0 0.5 1 5_0 n1 task_raised ZeroDivisionError: division by zero ZeroDivisionError True True")

    def test_a_result_that_cannot_be_sent(self):
        self.assertRegex(self.said("""
            import threading
            if __name__ == "__main__":
                print(next(through(lambda n: threading.Lock(), [1])))
        """), "not_picklable")

    def test_a_script_without_a_guard_says_so(self):
        write(f"{self.folder}/unguarded.py", "import dove\ndef one(n): return n\n"
              "dove.Client(url='http://127.0.0.1:1').submit(['true'])\n")
        main = write(f"{self.folder}/map/head", json.dumps({"format": task.FORMAT, "items": 1, "chunk": 1, "path": [],
                                                            "main": {"path": f"{self.folder}/unguarded.py"}}))
        folder = os.path.dirname(main)
        os.mkdir(folder + "/results")
        with open(folder + "/items", "wb") as items, open(folder + "/offsets", "wb") as offsets:
            task.write_offset(offsets, 0)
            task.write_offset(offsets, items.write(carried.dumps(1)))
        done = subprocess.run([sys.executable, "-m", "dove.task", folder], timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": PACKAGE, "SLURM_ARRAY_TASK_ID": "0"})
        self.assertEqual(done.returncode, task.RAISED)
        with open(folder + "/results/0.failed", "rb") as file:
            is_good, failure = carried.loads(file.read())
        self.assertFalse(is_good)
        self.assertIn('below `if __name__ == "__main__":`', carried.loads(failure)["message"])

    def test_what_a_task_is_started_with(self):
        for arguments, number, text in (([], "0", "dove.map()"), (["/no/such"], "0", "folder="), (["/tmp"], "", "dove.map()")):
            done = subprocess.run([sys.executable, "-m", "dove.task", *arguments], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PYTHONPATH": PACKAGE, "SLURM_ARRAY_TASK_ID": number}, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_another_python_is_named(self):
        reduced = carried._carry(lambda: 1, {})
        with self.assertRaises(dove.DoveError) as caught:
            reduced[0]((2, 7), *reduced[1][1:])
        self.assertIn("compiled by Python 2.7", str(caught.exception))

    def test_what_cannot_be_sent_is_named_and_nothing_is_left(self):
        client = dove.Client(url="http://127.0.0.1:1")
        lock = threading.Lock()
        folder = f"{self.folder}/maps"
        self.fails("not_picklable", dove.map, lambda n: lock, [1], client=client, folder=folder)
        self.fails("connection_refused", dove.map, len, ["a"], client=client, folder=folder)
        self.assertEqual(os.listdir(folder), [])
        self.assertEqual(list(dove.map(len, [], client=client, folder=folder)), [])
        self.assertEqual(os.listdir(folder), [])
        self.fails("cannot_write", dove.map, len, [], client=client, folder="/proc/no")


class Installs(OwnEnvironment):
    def test_pip_installs_it_without_a_network(self):
        venv.create(f"{self.folder}/venv", with_pip=True)
        python = f"{self.folder}/venv/bin/python"
        done = subprocess.run([python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", PACKAGE],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        said = subprocess.run([python, "-c", "import dove; print(dove.__file__, dove.submit, dove.map, dove.Executor)"],
                              capture_output=True, text=True, timeout=60, check=True, env=clean, cwd=self.folder).stdout
        self.assertIn(f"{self.folder}/venv/", said)


class Embedded(unittest.TestCase):
    def test_a_task_that_tells_its_progress_loads_no_client(self):
        said = subprocess.run([sys.executable, "-c", "import sys, dove; dove.progress.step(1); "
                               "print(sorted(name for name in sys.modules if name.startswith('dove')))"], check=True,
                              capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": PACKAGE}).stdout
        self.assertEqual(said.strip(), "['dove', 'dove.checkpoint', 'dove.progress']")

    def test_submission_reads_a_mapping(self):
        self.assertEqual(submission.read({"command": ["a"], "gpus": 1}, {"gpus": 2}, endpoint.Endpoint("http://a")),
                         ({"command": ["a"], "gpus": 2}, []))
        self.assertEqual(array_map._ELEMENTS_MAX, 1000)


if __name__ == "__main__":
    unittest.main()
