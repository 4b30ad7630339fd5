#!/usr/bin/env python3
"""The Python client with a real cluster: jobs, logs that are followed, restarts of the server, and functions as jobs."""
# limit_s: 300
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from cluster import DOVE, ROOT, Api, Cluster, make_bare_image, until

PACKAGE = os.path.join(ROOT, "python")
sys.path.insert(0, PACKAGE)
# Tasks find this very package, and the agent's only behind it.
os.environ["PYTHONPATH"] = PACKAGE

import dove  # noqa: E402
from dove import connection  # noqa: E402


def recorded(call):
    """What the package asks and is answered is checked against api/openapi.yaml, as what the tests ask is."""
    def record(self, method, target, body, headers):
        answer = call(self, method, target, body, headers)
        sent = None if body is None else json.dumps(body).encode()
        status = 201 if (method, target) == ("POST", "/v1/jobs") else 200
        Api.recorder.add(method, target, sent, status, {"Content-Type": "application/json"}, json.dumps(answer).encode())
        return answer
    return record


connection.Api._call = recorded(connection.Api._call)


def wait_for(path):
    """Runs in a task."""
    while not os.path.exists(path):
        time.sleep(0.02)
    return path


class WithCluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = dict(os.environ)
        cls.cluster = Cluster(nodes=2, cores=8).__enter__()
        for name in ("DOVE_URL", "DOVE_TOKEN", "DOVE_JOB_TOKEN"):
            os.environ.pop(name, None)
        os.environ["DOVE_DATA"] = cls.cluster.data
        os.environ["DOVE_MAP_DIR"] = os.path.join(cls.cluster.folder, "maps")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        os.environ.clear()
        os.environ.update(cls.kept)

    def path(self, name):
        return os.path.join(self.cluster.folder, f"{self.id().rpartition('.')[2]}.{name}")

    def touch(self, name):
        with open(self.path(name), "w"):
            return self.path(name)

    def waits_for(self, name, first="true", then="true"):
        return ["sh", "-c", f"{first}; until [ -e {self.path(name)} ]; do sleep 0.05; done; {then}"]

    def restart_server(self):
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        self.cluster.start_server()

    def fails(self, code, call, *arguments, **named):
        with self.assertRaises(dove.DoveError) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def script(self, text, **environment):
        """A program of its own that uses the package; its Popen."""
        path = self.path("script.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        return subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**self.cluster.environment, **os.environ, **environment})


class Jobs(WithCluster):
    def test_submitted_waited_for_and_read(self):
        job = dove.submit(["sh", "-c", "echo one; echo two; echo broken >&2; exit 3"], name="hello", cores=2)
        self.assertEqual(job.wait(timeout=30), "failed")
        self.assertEqual((job.state, job.exit_code), ("failed", 3))
        self.assertEqual(list(job.logs()), ["one", "two"])
        self.assertEqual(list(job.logs(stderr=True)), ["broken"])
        again = dove.job(int(job.id))
        self.assertEqual(again.info()["name"], "hello")
        self.assertIn(int(job.id), [each["id"] for each in dove.jobs(name="hello", state="failed")])
        self.fails("no_such_job", dove.job, 10 ** 9)
        self.fails("no_such_task", lambda: list(job.logs(rank=5)))

    def test_logs_are_followed_as_they_come(self):
        job = dove.submit(self.waits_for("go", "echo first", "echo last; printf end"))
        lines = job.logs(follow=True)
        self.assertEqual(next(lines), "first")
        self.assertEqual(job.state, "running")
        self.fails("timed_out", job.wait, timeout=0.2)
        self.touch("go")
        self.assertEqual(list(lines), ["last", "end"])
        self.assertEqual(job.wait(30), "completed")
        self.assertEqual(list(job.logs(follow=True)), ["first", "last", "end"])  # of one that has ended

    def test_a_waiting_job_says_why_and_is_cancelled(self):
        job = dove.submit(["true"], hold=True)
        self.assertEqual(job.state, "held")
        self.assertEqual([reason.kind for reason in job.why()], ["held"])
        self.assertIn("held", str(job.why()[0]))
        self.fails("job_not_started", lambda: list(job.logs()))
        with self.assertWarnsRegex(dove.DoveWarning, "cannot start"):
            large = dove.submit(["true"], tasks=3, cores=8)
        self.assertEqual(large.state, "waiting")
        self.assertTrue(large.why())
        self.assertEqual(large.cancel(), 1)
        self.assertEqual(job.cancel(), 1)
        self.assertEqual((job.state, job.wait(10)), ("cancelled", "cancelled"))
        self.assertEqual(job.cancel(), 0)
        self.fails("never_started", lambda: list(job.logs(follow=True)))

    def test_a_running_one_is_cancelled(self):
        job = dove.submit(self.waits_for("never", "echo up"))
        self.assertEqual(next(job.logs(follow=True)), "up")
        self.assertEqual(job.cancel(), 1)
        self.assertEqual(job.wait(30), "cancelled")

    def test_a_typo_is_named_with_its_place(self):
        error = self.fails("unknown_field", dove.submit, ["true"], gpsu=1)
        self.assertEqual((error.status, error.field), (400, "gpsu"))
        self.assertIn("gpus", str(error))
        error = self.fails("unknown_field", dove.submit, {"command": ["true"], "groups": [{"tasks": 1, "croes": 1}]})
        self.assertEqual(error.field, "groups[0].croes")

    def test_an_array_and_its_elements(self):
        job = dove.submit(["sh", "-c", "echo $SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID != 2 ]"], array="0-3%2")
        self.assertEqual(job.wait(30), "failed")
        self.assertEqual((job.state, job.exit_code), ("failed", 1))
        elements = job.elements()
        self.assertEqual([each.id for each in elements], [f"{job.id}_{index}" for index in range(4)])
        self.assertEqual([list(each.logs()) for each in elements], [["0"], ["1"], ["2"], ["3"]])
        self.assertEqual([each.state for each in elements], ["completed", "completed", "failed", "completed"])

    def test_job_files(self):
        os.environ["PATH"] = os.path.dirname(os.path.abspath(DOVE)) + ":" + self.kept["PATH"]
        with open(self.path("job.sh"), "w") as file:
            file.write("#!/bin/sh\n#SBATCH --job-name=scripted\n#SBATCH --output=/dev/null\necho $SLURM_JOB_NAME\n")
        job = dove.submit(self.path("job.sh"), name="renamed")
        self.assertEqual(job.wait(30), "completed")
        self.assertEqual(job.info()["name"], "renamed")
        with open(self.path("job.json"), "w") as file:
            file.write('{"command": ["echo", "from a file"], "name": "read"}')
        job = dove.submit(self.path("job.json"), cores=2)
        self.assertEqual(job.wait(30), "completed")
        self.assertEqual(list(job.logs()), ["from a file"])
        with open(self.path("bad.sh"), "w") as file:
            file.write("#!/bin/sh\n#SBATCH --ntasks=many\n")
        self.assertIn("bad.sh:2", str(self.fails("bad_job_file", dove.submit, self.path("bad.sh"))))

    def test_in_a_task_with_the_jobs_own_token(self):
        job = dove.submit([sys.executable, "-c", "import dove; inner = dove.submit(['echo', 'inner']); print(inner.wait()); "
                           "print(*inner.logs())"], environment={"PYTHONPATH": PACKAGE})
        self.assertEqual(list(job.logs(follow=True)), ["completed", "inner"])

    def test_without_a_token_through_the_socket(self):
        client = dove.Client()
        token = os.path.join(self.cluster.data, "token")
        os.rename(token, token + ".away")
        self.addCleanup(os.rename, token + ".away", token)
        if not os.path.exists(os.path.join(self.cluster.data, "socket")):
            self.skipTest("the server has no socket")
        local = dove.Client()
        self.assertEqual((local.api.endpoint.token, bool(local.api.endpoint.unix_socket)), ("", True))
        self.assertEqual(local.api.get("/v1/me")["user"], client.api.get("/v1/me")["user"])


class Restarts(WithCluster):
    def test_a_server_that_restarts_is_waited_for(self):
        job = dove.submit(self.waits_for("go", "echo first", "echo last"))
        lines = job.logs(follow=True)
        self.assertEqual(next(lines), "first")
        found = {}
        waiter = threading.Thread(target=lambda: found.update(state=job.wait(60)))
        reader = threading.Thread(target=lambda: found.update(lines=list(lines)))
        waiter.start()
        reader.start()
        self.restart_server()
        self.touch("go")
        waiter.join(60)
        reader.join(60)
        self.assertEqual(found, {"state": "completed", "lines": ["last"]})

    def test_map_goes_on(self):
        go = self.path("go")
        results = dove.map(wait_for, [go] * 4)
        until(lambda: results.job.state == "running", 30, "the array to run")
        self.restart_server()
        self.touch("go")
        self.assertEqual(list(results), [go] * 4)

    def test_a_server_that_is_gone_for_good(self):
        client = dove.Client(patience_s=1)
        client.api.get("/v1/cluster")
        self.cluster.server.terminate()
        self.cluster.server.wait(20)
        begin = time.monotonic()
        error = self.fails("connection_refused", client.submit, ["true"])
        self.assertIn("dove up", str(error))
        self.assertLess(time.monotonic() - begin, 10)
        self.cluster.start_server()


class Map(WithCluster):
    def no_folder_is_left(self):
        self.assertEqual(os.listdir(os.environ["DOVE_MAP_DIR"]), [])

    def test_twenty_items_in_order(self):
        factor = 3
        self.assertEqual(list(dove.map(lambda n: (n * factor, os.environ["DOVE_JOB_ID"] != ""), range(20), cores=1)),
                         [(n * 3, True) for n in range(20)])
        results = dove.map(str.upper, ["a", "b", "c"], chunk=2, at_once=1)
        self.assertEqual((len(results), len(results.job.elements()), list(results)), (3, 2, ["A", "B", "C"]))
        self.no_folder_is_left()

    def test_an_exception_names_item_job_and_node(self):
        def inverse(n):
            return 1 / n
        results = dove.map(inverse, [1, 0, 2])
        self.assertEqual(next(results), 1.0)
        with self.assertRaises(dove.TaskError) as caught:
            next(results)
        error = caught.exception
        self.assertEqual((error.code, error.index, error.job), ("task_raised", 1, f"{results.job.id}_1"))
        self.assertIn(error.node, ("node1", "node2"))
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        self.assertIn("in inverse", str(error))
        self.assertEqual(list(results), [])
        one, error, half = dove.map(inverse, [1, 0, 2], return_exceptions=True)
        self.assertEqual((one, type(error), half), (1.0, dove.TaskError, 0.5))
        self.no_folder_is_left()

    def test_a_task_that_dies_is_told_and_retried(self):
        mark = self.path("mark")

        def dies_once(path):
            if not os.path.exists(path):
                open(path, "w").close()
                os._exit(9)
            return "alive"
        self.assertEqual(list(dove.map(dies_once, [mark], retries_max=1)), ["alive"])
        os.unlink(mark)
        with self.assertRaises(dove.TaskError) as caught:
            list(dove.map(dies_once, [mark]))
        self.assertEqual(caught.exception.code, "task_lost")
        self.assertIn("failed, exit code 9", str(caught.exception))

    def test_what_is_run_again_gives_its_result_once(self):
        go = self.path("go")
        results = dove.map(wait_for, [go])
        until(lambda: results.job.state == "running", 30, "the task to run")
        dove.Client().api.post(f"/v1/jobs/{results.job.id}/requeue")
        until(lambda: results.job.info()["attempt"] == 2, 30, "a second attempt")
        self.touch("go")
        self.assertEqual(list(results), [go])

    def test_a_bad_interpreter_and_a_folder_that_is_not_shared(self):
        with self.assertRaises(dove.TaskError) as caught:
            list(dove.map(len, ["a"], python="/no/such/python"))
        self.assertIn("/no/such/python", str(caught.exception))

    def test_an_interrupt_cancels_the_rest(self):
        program = self.script("""
            import time, dove
            if __name__ == "__main__":
                results = dove.map(time.sleep, [600] * 3)
                print(results.job.id, flush=True)
                list(results)
        """)
        job = dove.job(int(program.stdout.readline()))
        until(lambda: job.state == "running", 30, "the array to run")
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
        self.assertIn("KeyboardInterrupt", said)
        self.assertEqual(job.wait(60), "cancelled")
        self.assertEqual([each.state for each in job.elements()], ["cancelled"] * 3)
        self.no_folder_is_left()

    def test_results_that_nobody_holds_are_cancelled(self):
        job = dove.map(time.sleep, [600]).job
        self.assertEqual(job.wait(60), "cancelled")
        with dove.map(time.sleep, [600]) as results:
            self.fails("timed_out", results.next, timeout=0.2)
        self.assertEqual(results.job.wait(60), "cancelled")
        self.no_folder_is_left()


class LostNode(unittest.TestCase):
    def test_its_items_are_run_on_another(self):
        with Cluster(nodes=2, cores=2) as cluster:
            go = cluster.folder + "/go"

            def where(path):
                wait_for(path)
                return os.environ["DOVE_NODE"]
            results = dove.map(where, [go] * 4, client=dove.Client(data=cluster.data), folder=cluster.folder + "/maps")
            elements = results.job.elements()
            until(lambda: all(each.state == "running" for each in elements), 30, "all to run")
            lost = elements[3].info()["nodes"][0]
            for pid in cluster.processes():
                with contextlib.suppress(OSError):  # it ended with another one
                    with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as variables:
                        if f"/nodes/{lost}".encode() in line.read() + variables.read():
                            os.kill(pid, signal.SIGKILL)
            with open(go, "w"):
                self.assertEqual(list(results), [({"node1", "node2"} - {lost}).pop()] * 4)
            self.assertEqual(sorted(each.info()["attempt"] for each in elements), [1, 1, 2, 2])


class Futures(WithCluster):
    def test_calls_are_jobs(self):
        with dove.Executor(cores=1) as executor:
            power = executor.submit(pow, 2, 5, mod=7)
            bad = executor.submit(int, "x")
            never = executor.submit(time.sleep, 600)
            self.assertEqual(power.result(timeout=60), 4)
            self.assertIsInstance(bad.exception(timeout=60).__cause__, ValueError)
            self.assertTrue(never.cancel())
            self.assertEqual(list(executor.map(pow, [2, 3], [3, 2], timeout=60)), [8, 9])
            self.assertEqual(list(executor.map(len, ["a", "bc", ""], chunksize=2)), [1, 2, 0])
        with self.assertRaises(RuntimeError):
            executor.submit(pow, 2, 2)
        until(lambda: not list(dove.jobs(state="active,waiting")), 60, "the cancelled call to end")
        self.assertEqual(os.listdir(os.environ["DOVE_MAP_DIR"]), [])


class OfAnotherUser(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0 and (shutil.which("runc") or shutil.which("crun")), "needs root and an OCI runtime")
    def test_a_map_with_and_without_an_image(self):
        folder = tempfile.mkdtemp(prefix="dove-map-user.")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        make_bare_image(folder + "/images/python", "opt/dove")
        shutil.copytree(PACKAGE, folder + "/package", ignore=shutil.ignore_patterns("__pycache__"))
        os.mkdir(folder + "/maps")
        shutil.chown(folder + "/maps", "nobody")
        program = textwrap.dedent("""
            import os, dove
            options = {"folder": os.environ["MAPS"], "environment": {"PYTHONPATH": os.environ["PYTHONPATH"]}}
            print(list(dove.map(lambda n: (n, os.getuid()), range(2), **options)))
            volumes = [{"source": "/usr"}, {"source": os.environ["PYTHONPATH"]}]
            print(list(dove.map(lambda n: (n, os.path.exists("/etc/passwd")), range(2), **options,
                                container={"image": "python", "volumes": volumes})))
            print(os.listdir(os.environ["MAPS"]))
        """)
        with Cluster(cores=4, run_as_self=False, folder=folder + "/cluster",
                     log=open(folder + "/processes.log", "ab"),
                     agent_options=["--images", folder + "/images", "--volume-roots", f"/usr,{folder}"]) as cluster:
            cluster.api.call("PUT", "/v1/objects/user/nobody", {"linux_user": "nobody"})
            token = cluster.api.call("POST", "/v1/users/nobody/token")["token"]
            os.chmod(folder + "/cluster", 0o755)
            trust = {"DOVE_CA_FILE": shutil.copy(cluster.ca_file(), folder)} if cluster.ca_file() else {}
            done = subprocess.run(["/usr/bin/python3", "-c", program], user="nobody", group="nogroup", extra_groups=[],
                                  capture_output=True, text=True, timeout=100, cwd="/",
                                  env={"PATH": "/usr/bin", "DOVE_URL": cluster.url, "DOVE_TOKEN": token,
                                       "MAPS": folder + "/maps", "PYTHONPATH": folder + "/package", **trust}, check=False)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout.splitlines(), ["[(0, 65534), (1, 65534)]", "[(0, False), (1, False)]", "[]"])


class Trust(unittest.TestCase):
    def test_a_server_with_tls(self):
        with Cluster(nodes=1, tls=True) as cluster:
            client = dove.Client(data=cluster.data)
            self.assertTrue(client.api.endpoint.url.startswith("https:"))
            job = client.submit(["echo", "secret"])
            self.assertEqual((job.wait(30), list(job.logs())), ("completed", ["secret"]))
            with open(os.path.join(cluster.data, "token")) as file:
                token = file.read().strip()
            for url, code in ((cluster.url, "certificate_untrusted"), (cluster.url.replace("https", "http"), None)):
                with self.assertRaises(dove.DoveError) as caught:
                    dove.Client(url=url, token=token, timeout_s=5, patience_s=0).submit(["true"])
                if code:
                    self.assertEqual(caught.exception.code, code)
                self.assertNotIn(token, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
