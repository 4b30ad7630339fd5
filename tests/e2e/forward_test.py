#!/usr/bin/env python3
"""`dove port-forward` at the seam: real servers in plain tasks and in a container, and who must not be reached."""
# limit_s: 300
import hashlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from cluster import DOVE, Api, Cluster, cannot_run_containers, make_bare_image, until

PYTHON = "/usr/bin/python3"
MEGABYTE = 1 << 20
# Says on which port it serves: what it is sent once its client has ended, and behind it "over".
ECHO = """
import socket, sys, threading
server = socket.create_server(("{address}", 0), family=socket.{family})
print("port", server.getsockname()[1], flush=True)
def serve(peer):
    with peer:
        while piece := peer.recv(65536):
            peer.sendall(piece)
        peer.sendall(b"over")
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
UNIX = """
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["DOVE_SOCKETS"] + "/app")
server.listen()
outside = socket.socket(socket.AF_UNIX)
outside.bind("{outside}/outside")
outside.listen()
os.symlink("{outside}/outside", os.environ["DOVE_SOCKETS"] + "/link")
os.symlink("{outside}", os.environ["DOVE_SOCKETS"] + "/away")
open(os.environ["DOVE_SOCKETS"] + "/file", "w")
print("port 0", os.environ["DOVE_SOCKETS"], flush=True)
while True:
    with server.accept()[0] as peer:
        peer.sendall(b"by the socket")
"""
SINK = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1], flush=True)
peer = server.accept()[0]
time.sleep(600)
"""


class Forward:
    """A running `dove port-forward`; `ports` are those of this machine, in the order given."""

    def __init__(self, cluster, job, *words, **environment):
        self.process = subprocess.Popen([DOVE, "port-forward", str(job), *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env={**cluster.environment, "DOVE_DATA": cluster.data, **environment})
        targets = [word for word in words if ":" in word]
        self.lines = [self.process.stdout.readline() for _ in targets]
        self.ports = [int(line.split(" to ")[0].rsplit(":", 1)[1]) for line in self.lines if " to " in line]

    def connect(self, index=0):
        return socket.create_connection(("127.0.0.1", self.ports[index]), timeout=20)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=20)
        return errors


def read_all(connection):
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


class ForwardBed(unittest.TestCase):
    def forward(self, job, *words, **environment):
        made = Forward(self.cluster, job, *words, **environment)

        def close():
            if made.process.poll() is None:
                made.process.kill()
            made.process.communicate()
        self.addCleanup(close)
        return made

    def cancel_at_end(self, job):
        # It may have ended.
        self.addCleanup(lambda: self.cluster.api.raw("POST", f"/v1/jobs/{job}/cancel"))

    def serve(self, program, **more):
        """A job that runs the program, and the port that it says it listens on."""
        job = self.cluster.submit({"command": [PYTHON, "-c", program], "cores": 1, **more})
        self.cancel_at_end(job)

        def said():
            found = self.cluster.job(job)
            self.assertNotEqual(found["phase"], "ended", found)
            if found["state"] != "running":
                return None
            words = self.cluster.logs(job).split()
            return words if len(words) >= 2 else None
        return job, int(until(said, 30, "the program to listen")[1])

    def refused(self, *arguments, **environment):
        done = self.cluster.run("port-forward", *map(str, arguments), check=False, limit_s=30, **environment)
        self.assertNotEqual(done.returncode, 0)
        return done


class ForwardTest(ForwardBed):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2, cores=8).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    # -- what passes

    def test_a_web_server_of_a_plain_task(self):
        job, port = self.serve("import http.server\n"
                               "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
                               "print('port', server.server_port, flush=True)\nserver.serve_forever()")
        forward = self.forward(job, f"0:{port}")
        self.assertRegex(forward.lines[0], rf"^Forwarding 127\.0\.0\.1:\d+ to port {port} of job {job}\n$")
        for _ in range(3):
            client = http.client.HTTPConnection("127.0.0.1", forward.ports[0], timeout=20)
            client.request("GET", "/")
            self.assertIn(b"Directory listing", client.getresponse().read())
            client.close()
        self.assertEqual(forward.end(), "")

    def test_one_direction_ends_before_the_other_and_no_byte_is_lost(self):
        for family, address in (("AF_INET", "0.0.0.0"), ("AF_INET6", "::1"), ("AF_INET6", "::")):
            if family == "AF_INET6" and not has_ipv6():
                continue
            with self.subTest(family=family, address=address):
                job, port = self.serve(ECHO.format(family=family, address=address))
                forward = self.forward(job, f"0:{port}")
                block = os.urandom(8 * MEGABYTE)
                with forward.connect() as connection:
                    def send():
                        connection.sendall(block)
                        connection.shutdown(socket.SHUT_WR)
                    thread = threading.Thread(target=send)
                    thread.start()
                    received = read_all(connection)
                    thread.join()
                self.assertEqual(hashlib.sha256(received[:-4]).digest(), hashlib.sha256(block).digest())
                self.assertEqual(received[-4:], b"over")

    def test_many_connections_at_once_do_not_mix(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        forward = self.forward(job, f"0:{port}", f"0:{port}")
        open_ones = [forward.connect(index % 2) for index in range(60)]
        try:
            for index, connection in enumerate(open_ones):
                connection.sendall(f"only {index}".encode())
            for index, connection in enumerate(open_ones):
                connection.shutdown(socket.SHUT_WR)
                self.assertEqual(read_all(connection), f"only {index}over".encode())
        except OSError as error:
            self.fail(f"{error}; the forwarder says: {forward.end()}")
        finally:
            for connection in open_ones:
                connection.close()

    def test_a_slow_server_holds_up_the_client(self):
        job, port = self.serve(SINK)
        forward = self.forward(job, f"0:{port}")
        with forward.connect() as connection:
            connection.setblocking(False)
            sent, still = 0, 0
            block = b"x" * 65536
            while still < 20:  # a second without a byte
                try:
                    sent += connection.send(block)
                    still = 0
                except BlockingIOError:
                    still += 1
                    time.sleep(0.05)
                self.assertLess(sent, 64 * MEGABYTE, "nothing holds it up")

    def test_a_socket_in_the_tasks_directory(self):
        outside = tempfile.mkdtemp(dir=self.cluster.folder)
        job, _ = self.serve(UNIX.format(outside=outside))
        directory = self.cluster.logs(job).split()[2]
        for path in ("app", directory + "/app", "./app"):
            forward = self.forward(job, f"unix:{path}")
            with forward.connect() as connection:
                self.assertEqual(read_all(connection), b"by the socket")
            self.assertEqual(forward.end(), "")
        # A socket outside of the directory is not reached, however the path gets there.
        for path, why in (("link", "link"), ("away/outside", "link"), ("../" * 12 + outside.strip("/") + "/outside", "out of"),
                          (outside + "/outside", "out of"), (directory + "/../../../../../" + "outside", "out of"),
                          ("file", "no socket"), ("nothing", "No such file")):
            with self.subTest(path=path):
                forward = self.forward(job, f"unix:{path}")
                with forward.connect() as connection:
                    self.assertEqual(read_all(connection), b"")
                errors = forward.end()
                self.assertIn("has no socket", errors)
                self.assertIn(why, errors)

    def test_a_rank_on_another_node_and_a_batch_jobs_step(self):
        job = self.cluster.submit({"command": [PYTHON, "-c", ECHO.format(family="AF_INET", address="127.0.0.1")],
                                   "groups": [{"tasks": 2, "nodes": 2, "per_task": {"cores": 1}}]})
        self.cancel_at_end(job)
        self.cluster.wait_state(job, "running")
        ports = [int(until(lambda: self.cluster.logs(job, rank).split()[1:2], 20, "its port")[0]) for rank in (0, 1)]
        forward = self.forward(job, f"0:{ports[1]}", "--rank", "1")
        with forward.connect() as connection:
            connection.shutdown(socket.SHUT_WR)
            self.assertEqual(read_all(connection), b"over")
        done = self.refused(job, ports[0], "--rank", "7")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has no task 7", done.stderr)
        with tempfile.NamedTemporaryFile("w", dir=self.cluster.folder, suffix=".py", delete=False) as file:
            file.write(ECHO.format(family="AF_INET", address="127.0.0.1"))
        batch = self.cluster.submit({"script": f"#!/bin/sh\nsrun {PYTHON} {file.name}\n", "cores": 1, "workdir": self.cluster.folder})
        self.cancel_at_end(batch)
        self.cluster.wait_state(batch, "running")
        port = int(until(lambda: self.cluster.logs(batch).split()[1:2], 20, "its port")[0])
        forward = self.forward(batch, f"0:{port}")
        with forward.connect() as connection:
            connection.shutdown(socket.SHUT_WR)
            self.assertEqual(read_all(connection), b"over")

    # -- ends

    def test_it_ends_with_its_task(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        forward = self.forward(job, f"0:{port}")
        with forward.connect() as connection:
            connection.sendall(b"here")
            self.assertEqual(connection.recv(4), b"here")
            self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")
            self.assertEqual(read_all(connection), b"")
        _, errors = forward.process.communicate(timeout=20)
        self.assertEqual(forward.process.returncode, 4)
        self.assertIn(f"job {job} no longer runs, it is cancelled", errors)

    def test_a_restarted_agent_breaks_what_is_open_and_serves_what_comes(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        forward = self.forward(job, f"0:{port}")
        name = self.cluster.job(job)["attempts"][-1]["nodes"][0]
        with forward.connect() as connection:
            connection.sendall(b"here")
            self.assertEqual(connection.recv(4), b"here")
            self.cluster.agents[name].kill()
            self.cluster.agents[name].wait()
            self.assertEqual(read_all(connection), b"")
        self.cluster.start_agent(name)
        self.cluster.wait_connected()

        def answers():
            with forward.connect() as connection:
                try:
                    connection.sendall(b"again")
                    return connection.recv(5) == b"again"
                except ConnectionError:
                    return False
        until(answers, 20, "the port to be reached again")
        self.assertIn("so the connection was ended", forward.end())

    # -- refusals

    def test_a_port_of_the_host_that_is_not_the_tasks(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            stranger.setblocking(False)
            other = stranger.getsockname()[1]
            forward = self.forward(job, f"0:{other}")
            with forward.connect() as connection:
                self.assertEqual(read_all(connection), b"")
            errors = forward.end()
            self.assertIn(f"no process of the task listens on port {other}: it listens on {port}", errors)
            with self.assertRaises(BlockingIOError, msg="nobody may have connected"):
                stranger.accept()
        # Another job of the same user is another task, too.
        second, second_port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        forward = self.forward(job, f"0:{second_port}")
        with forward.connect() as connection:
            self.assertEqual(read_all(connection), b"")
        self.assertIn("no process of the task", forward.end())
        self.assertNotEqual(second, job)

    def test_a_port_that_the_task_opens_later(self):
        job, port = self.serve("import socket, time\n"
                               "free = socket.create_server(('127.0.0.1', 0)); port = free.getsockname()[1]; free.close()\n"
                               "print('port', port, flush=True)\n"
                               "import os\n"
                               "while not os.path.exists('go'): time.sleep(0.05)\n"
                               "server = socket.create_server(('127.0.0.1', port))\n"
                               "while True: server.accept()[0].sendall(b'late')")
        forward = self.forward(job, f"0:{port}")
        with forward.connect() as connection:
            self.assertEqual(read_all(connection), b"")
        self.cluster.run("exec", str(job), "--", "touch", "go")

        def answers():
            with forward.connect() as connection:
                return connection.recv(4) == b"late"
        until(answers, 20, "the port to open")
        self.assertIn("it listens on no port yet", forward.end())

    def test_what_cannot_be_forwarded_says_why(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        waiting = self.cluster.submit({"command": ["true"], "hold": True})
        done = self.refused(waiting, port)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"job {waiting} is not running, it is held", done.stderr)
        self.assertEqual(self.refused("987654", port).returncode, 3)
        for word in ("0", "65536", "x", "80:", ":80", "1:2:3", "unix:", "-1"):
            self.assertEqual(self.refused(job, "--", word).returncode, 2, word)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.refused(job, f"{taken.getsockname()[1]}:{port}")
            self.assertIn("is taken on this machine", done.stderr)
        self.assertIn("is not an address", self.refused(job, port, "--address", "nowhere.example").stderr)
        for query in ("", "port=0", "port=70000", "port=80&socket=a", "socket=" + "x" * 600):
            status, _, text = self.cluster.api.raw("GET", f"/v1/jobs/{job}/forward?{query}")
            self.assertEqual(status, 400, text)

    def test_only_the_jobs_user_may(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        token = self.cluster.api.call("POST", "/v1/users/mallory/token?create=1")["token"]
        done = self.refused(job, port, DOVE_URL=self.cluster.url, DOVE_TOKEN=token)
        self.assertEqual(done.returncode, 5)
        self.assertIn("only the job's user and administrators connect to its tasks", done.stderr)

    def test_a_job_has_so_many_connections_and_no_more(self):
        job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"))
        forward = self.forward(job, f"0:{port}")
        open_ones = []
        for index in range(256):
            connection = forward.connect()
            connection.sendall(b"hold")
            self.assertEqual(connection.recv(4), b"hold", index)
            open_ones.append(connection)
        with forward.connect() as one_more:
            self.assertEqual(read_all(one_more), b"")
        for connection in open_ones:
            connection.close()

        def has_room():
            with forward.connect() as connection:
                connection.sendall(b"hold")
                try:
                    return connection.recv(4) == b"hold"
                except ConnectionError:
                    return False
        until(has_room, 20, "room for another")
        self.assertIn("has 256 connections, and may have no more", forward.end())


@unittest.skipIf(cannot_run_containers(), cannot_run_containers())
class ContainerForwardTest(ForwardBed):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-forward.")
        os.chmod(cls.root, 0o755)
        make_bare_image(cls.root + "/images/bare")
        cls.cluster = Cluster(agent_options=["--cgroups", "on", "--images", cls.root + "/images", "--volume-roots", "/usr"])
        cls.cluster.names = ["forwarded"]
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root, ignore_errors=True)

    def serve(self, program, **more):
        return super().serve(program, memory="256Mi", **more)

    def container(self, **more):
        return {"container": {"image": "bare", "volumes": [{"source": "/usr"}], **more}}

    def test_a_port_and_a_socket_of_a_container(self):
        for network in ("host", "gang"):
            with self.subTest(network=network):
                try:
                    job, port = self.serve(ECHO.format(family="AF_INET", address="127.0.0.1"), **self.container(network=network))
                except AssertionError as error:
                    if network == "host" or "start_failure" not in str(error):
                        raise
                    self.skipTest("no networks of gangs here")
                forward = self.forward(job, f"0:{port}")
                with forward.connect() as connection:
                    connection.sendall(b"into the container")
                    connection.shutdown(socket.SHUT_WR)
                    self.assertEqual(read_all(connection), b"into the containerover")
                with socket.create_server(("127.0.0.1", 0)) as stranger:
                    forward = self.forward(job, f"0:{stranger.getsockname()[1]}")
                    with forward.connect() as connection:
                        self.assertEqual(read_all(connection), b"")
                    self.assertIn("no process of the task", forward.end())

    def test_a_socket_of_a_container(self):
        job, _ = self.serve(UNIX.format(outside="/tmp"), **self.container())
        directory = self.cluster.logs(job).split()[2]
        for path in ("app", directory + "/app"):
            forward = self.forward(job, f"unix:{path}")
            with forward.connect() as connection:
                self.assertEqual(read_all(connection), b"by the socket")
        forward = self.forward(job, "unix:away/outside")
        with forward.connect() as connection:
            self.assertEqual(read_all(connection), b"")
        self.assertIn("has no socket", forward.end())


if __name__ == "__main__":
    unittest.main()
