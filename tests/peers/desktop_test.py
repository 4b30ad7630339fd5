#!/usr/bin/env python3
"""A Linux desktop by Debian's packages, through `dove desktop` and the proxy: its page, its screen, what counts as use, and
the message where a package is missing. Skips where they are missing (`tools/setup peers`); with CI=true that is a failure."""
# limit_s: 240
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIP = 77
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from cluster import Cluster, cannot_run_containers, make_bare_image, until  # noqa: E402
from proxy_test import Proxied  # noqa: E402
from session_test import Session, SessionBed, get, web_socket  # noqa: E402

GLXINFO = "/usr/bin/glxinfo"
NEEDED = ("/usr/bin/Xtigervnc", "/usr/share/novnc/vnc.html", "/usr/bin/openbox-session", "/usr/bin/xterm")
ASK_FOR_PICTURE = b"\x03\x01\0\0\0\0\0\x10\0\x10"
KEY = b"\x04\x01\0\0\0\0\xff\xe1"  # Shift


class Screen:
    """What noVNC does on its WebSocket: RFB in frames."""

    def __init__(self, connection):
        self.connection = connection
        self.bytes = b""

    def read(self, size):
        while len(self.bytes) < size:
            kind, length = self.exactly(2)
            assert kind == 0x82, kind
            if length > 125:
                length = int.from_bytes(self.exactly(2 if length == 126 else 8), "big")
            self.bytes += self.exactly(length)
        taken, self.bytes = self.bytes[:size], self.bytes[size:]
        return taken

    def exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.connection.recv(size - len(data))
            assert piece, "the connection has ended"
            data += piece
        return data

    def write(self, data):
        mask = os.urandom(4)
        self.connection.sendall(bytes([0x82, 0x80 | len(data)]) + mask +
                                bytes(byte ^ mask[index % 4] for index, byte in enumerate(data)))

    def begin(self):
        """Until it may be used; its name."""
        assert self.read(12) == b"RFB 003.008\n"
        self.write(b"RFB 003.008\n")
        assert self.read(self.read(1)[0]) == b"\x01", "it asks for no password"
        self.write(b"\x01")
        assert self.read(4) == bytes(4)
        self.write(b"\x01")
        head = self.read(24)
        return self.read(int.from_bytes(head[20:], "big")).decode()


def processes(job):
    """X servers of the job's desktop."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if words[0].endswith("Xtigervnc") and f"desktop of job {job}" in words:
            found.append(int(pid))
    return found


class DesktopTest(Proxied):
    agent_options = ["--look-s", "1"]

    @classmethod
    def start_app(cls, *words, user="ada"):
        said = cls.cluster.run("desktop", "--detach", "--program=/usr/bin/python3", "-c", "1", *words, cwd=cls.cluster.folder,
                               DOVE_URL=cls.cluster.url, DOVE_TOKEN=cls.tokens[user]).stdout
        job = int(re.search(r"Submitted job (\d+)", said)[1])
        cls.cluster.wait_state(job, "running")
        return job

    def come_in(self, job=None, who="ada"):
        browser, host = self.enter(who, job, path="/?x=1")
        until(lambda: browser.ask(host, "/activity", Accept="*/*").status == 200, 30, "the desktop to answer")
        return browser, host

    def screen(self, browser, host, **headers):
        connection, status = self.web_socket(browser, host, "/websockify", **{"Origin": f"http://{host}", **headers})
        self.assertEqual(status, 101)
        self.addCleanup(connection.close)
        return Screen(connection)

    def used_at(self, browser, host):
        return json.loads(browser.ask(host, "/activity", Accept="*/*").text)["last_activity"]

    def test_its_page_and_its_screen_come_through_the_proxy(self):
        browser, host = self.come_in()
        self.assertEqual(browser.ask(host, "/").headers["Location"], "/vnc.html?autoconnect=true&reconnect=true&resize=remote")
        for path, word in (("/vnc.html", b"noVNC"), ("/core/rfb.js", b"class RFB"), ("/app/ui.js", b"autoconnect")):
            answer = browser.ask(host, path)
            self.assertEqual(answer.status, 200)
            self.assertIn(word, answer.text)
        self.assertEqual(browser.ask(host, "/app/").status, 404, "no lists of files")
        self.assertEqual(browser.ask(host, "/../../../etc/passwd").status, 404)
        self.assertEqual(self.screen(browser, host).begin(), f"desktop of job {self.job}")
        refused, status = self.web_socket(browser, host, "/websockify", Origin="http://evil.org")
        refused.close()
        self.assertEqual(status, 403)

    def test_a_port_of_ones_own_machine_is_for_its_own_page_alone(self):
        opened = Session(self.cluster, "open", str(self.job), "--local")
        self.addCleanup(opened.end)
        port, _ = opened.url()
        for host, origin, status in ((f"127.0.0.1:{port}", f"http://127.0.0.1:{port}", 101),
                                     (f"127.0.0.1:{port}", "https://evil.org", 403),
                                     (f"evil.org:{port}", f"http://evil.org:{port}", 403)):  # its name leads here
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall((f"GET /websockify HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n"
                                    "Connection: Upgrade\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
                self.assertEqual(int(connection.recv(100).split()[1]), status, (host, origin))

    def test_only_its_session_reaches_the_display(self):
        self.come_in()
        until(lambda: "runs on display" in self.cluster.logs(self.job), 20, "the number of its display")
        display = re.search(r"runs on display :(\d+)", self.cluster.logs(self.job))[1]
        with socket.socket(socket.AF_UNIX) as client:  # without its cookie
            client.connect(f"/tmp/.X11-unix/X{display}")
            client.sendall(b"l\0\x0b\0\0\0\0\0\0\0\0\0")
            self.assertEqual(client.recv(1), b"\0")
        pid, = processes(self.job)
        inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        for kind in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{kind}") as file:
                listening = {f"socket:[{line.split()[9]}]" for line in file.readlines()[1:] if line.split()[3] == "0A"}
            self.assertEqual(inodes & listening, set(), "it listens on no port")

    def test_keys_are_use_and_asking_for_pictures_is_not(self):
        browser, host = self.come_in()
        screen = self.screen(browser, host)
        screen.begin()
        began = self.used_at(browser, host)
        for _ in range(20):
            screen.write(ASK_FOR_PICTURE)
        screen.write(b"\x02\0\0\x01\0\0\0\0" + ASK_FOR_PICTURE[:3])  # messages need not end with their frames
        screen.write(ASK_FOR_PICTURE[3:])
        self.assertEqual(self.used_at(browser, host), began)
        screen.write(KEY)
        until(lambda: self.used_at(browser, host) > began, 10, "the key to count")

    def test_an_open_page_that_nobody_touches_is_idle(self):
        job = self.start_app(user="bob")
        browser, host = self.come_in(job, "bob")
        screen = self.screen(browser, host)
        screen.begin()
        over = threading.Event()

        def look():  # as the page does by itself, for a clock on the desktop
            try:
                while not over.wait(0.2):
                    screen.write(ASK_FOR_PICTURE)
            except OSError:
                pass
        looker = threading.Thread(target=look)
        looker.start()
        self.addCleanup(looker.join)
        self.addCleanup(over.set)
        self.addCleanup(self.cluster.api.raw, "DELETE", "/v1/objects/idle_rule/all")
        self.cluster.api.call("PUT", "/v1/objects/idle_rule/all",
                              {"users": ["bob"], "no_input_for_s": 6, "grace_s": 0, "warning_s": 2})
        time.sleep(3)
        screen.write(KEY)
        ended = self.cluster.wait(job, limit_s=90)
        self.assertEqual(ended["state"], "stopped_idle")
        self.assertRegex(ended["idle"]["evidence"], r"^no input for \d+ s \(limit 6 s\)$")
        until(lambda: not processes(job), 20, "its X server to end")

    def test_what_it_runs_is_chosen_and_its_end_is_that_of_the_job(self):
        job = self.start_app("--", "/usr/bin/xterm", "-e", "sleep", "3")
        self.assertEqual(self.cluster.wait(job, limit_s=60)["state"], "completed")
        said = self.cluster.api.raw("GET", f"/v1/jobs/{job}/logs?stream=stderr")[2].decode()
        self.assertIn("/usr/bin/xterm has ended", said)
        until(lambda: not processes(job), 20, "its X server to end")

    @unittest.skipUnless(os.path.exists(GLXINFO), "there is no glxinfo (tools/setup peers)")
    def test_opengl_is_drawn_by_the_processor(self):
        said = self.cluster.folder + "/glxinfo"
        job = self.start_app("--", "/bin/sh", "-c", f"{GLXINFO} -B >{said} 2>&1")
        self.assertEqual(self.cluster.wait(job, limit_s=60)["state"], "completed")
        with open(said) as file:
            text = file.read()
        self.assertRegex(text, r"OpenGL renderer string: (llvmpipe|softpipe)")
        self.assertRegex(text, r"OpenGL core profile version string: [34]\.\d")

    def test_what_is_missing_is_named_with_its_packages(self):
        done = self.cluster.run("desktop", "--local", "--program=/usr/bin/python3", "-c", "1", "no-such-session", check=False,
                                cwd=self.cluster.folder, DOVE_URL=self.cluster.url, DOVE_TOKEN=self.tokens["ada"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("there is no program 'no-such-session' on", done.stderr)
        self.assertIn("novnc tigervnc-standalone-server openbox xterm), or name an image that has it", done.stderr)
        # Where nothing is found, neither its program nor what that needs: it ends, and says so.
        for words, told in (([], "there is no Xtigervnc on"), (["--program=python3"], "python3")):
            done = self.cluster.run("desktop", "--local", "--program=/usr/bin/python3", *words, "-c", "1", "--export=ALL,PATH=/nowhere",
                                    check=False, cwd=self.cluster.folder, DOVE_URL=self.cluster.url,
                                    DOVE_TOKEN=self.tokens["ada"])
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(told, done.stderr)
            self.assertIn("apt-get install", done.stderr)
        program = next(app for app in self.cluster.api.call("GET", "/v1/apps")["apps"] if app["name"] == "desktop")["job"]["command"]
        done = subprocess.run(["/usr/bin/python3", *program[1:]], env={"PATH": "/nowhere", "DOVE_SOCKETS": self.cluster.folder},
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"there is no Xtigervnc on .*\nthere is no window manager on .*\n"
                                      r"add to the image, or to the node: apt-get install tigervnc-standalone-server openbox xterm\n$")


@unittest.skipIf(cannot_run_containers(), cannot_run_containers())
class ContainerDesktopTest(SessionBed):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dove-desktop.")
        os.chmod(cls.root, 0o755)
        make_bare_image(cls.root + "/images/bare")
        cls.cluster = Cluster(cores=4, agent_options=["--cgroups", "on", "--images", cls.root + "/images", "--volume-roots", "/usr"])
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.root, ignore_errors=True)

    def test_a_desktop_in_an_image(self):
        session = self.session("desktop", "--image=bare", "--volume=/usr:/usr", "--program=/usr/bin/python3", "-c", "1", "--mem=1G")
        port, path = session.url()
        self.assertEqual(path, "/")
        self.assertIn("noVNC", get(port, "/vnc.html")[1])
        with web_socket(port, "/websockify") as connection:
            self.assertEqual(Screen(connection).begin(), f"desktop of job {session.job}")
        session.end()


def main():
    missing = [path for path in NEEDED if not os.path.exists(path)]
    if missing:
        print(f"skipped: there is no {missing[0]} (tools/setup peers)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
