#!/usr/bin/env python3
"""JupyterLab as PyPI has it and code-server as npm has it, under a rule that ends idle sessions. A busy kernel is no idleness though
the browser is gone; an idle one ends, though an open page goes on polling. An editor whose page is open goes on, and ends once the
page is closed. Skips where one of them is missing (`tools/peer_tools`); with CI=true that is a failure.
"""
# limit_s: 400
import base64
import http.client
import json
import os
import socket
import sys
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APPS = os.environ.get("PEER_APPS", os.path.join(ROOT, "build/peer-apps/bin"))
CODE = os.environ.get("PEER_CODE", os.path.join(ROOT, "build/peer-code"))
SKIP = 77
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from cluster import Cluster, until  # noqa: E402
from session_test import SessionBed  # noqa: E402


class Page:
    """What a browser has of a JupyterLab: its cookie, and its own connections."""

    def __init__(self, port):
        self.port = port
        answer = self.ask("GET", "/lab", {})
        cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
        self.xsrf = next(cookie.split(";")[0] for cookie in cookies if cookie.startswith("_xsrf="))

    def ask(self, method, path, headers=None, body=None):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        if headers is None:
            headers = {"Cookie": self.xsrf, "X-XSRFToken": self.xsrf.split("=", 1)[1]}
        client.request(method, path, body, headers)
        answer = client.getresponse()
        answer.text = answer.read()
        client.close()
        return answer

    def start_kernel(self):
        answer = self.ask("POST", "/api/kernels", body=json.dumps({"name": "python3"}))
        assert answer.status == 201, answer.text
        return json.loads(answer.text)["id"]

    def run(self, kernel, code):
        """Has a cell run, and does not wait for its end."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall((f"GET /api/kernels/{kernel}/channels HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                            f"Cookie: {self.xsrf}\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        assert head.startswith(b"HTTP/1.1 101"), head
        message = json.dumps({
            "channel": "shell", "parent_header": {}, "metadata": {}, "buffers": [],
            "header": {"msg_id": "1", "username": "", "session": "1", "msg_type": "execute_request", "version": "5.3"},
            "content": {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}}).encode()
        mask = os.urandom(4)
        connection.sendall(bytes([0x81, 0xfe]) + len(message).to_bytes(2, "big") + mask +
                           bytes(byte ^ mask[index % 4] for index, byte in enumerate(message)))
        until(lambda: self.state(kernel) == "busy", 60, "the cell to run")
        connection.close()

    def state(self, kernel):
        return json.loads(self.ask("GET", f"/api/kernels/{kernel}").text)["execution_state"]


class IdleApps(SessionBed):
    def setUp(self):
        self.cluster = Cluster(cores=4, agent_options=["--look-s", "1"]).__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def notebook(self):
        session = self.session("notebook", f"--program={APPS}/jupyter", "-c", "1", f"--export=ALL,PATH={APPS}:/usr/bin:/bin")
        port, _ = session.url()
        return session, Page(port)

    def test_a_busy_kernel_outlives_its_page_and_an_idle_one_ends_though_its_page_polls(self):
        night, page = self.notebook()
        page.run(page.start_kernel(), "import time\nwhile True: time.sleep(1)")
        night.end()  # the tab is closed
        tab, page = self.notebook()
        kernel = page.start_kernel()
        until(lambda: page.state(kernel) in ("idle", "starting"), 60, "the kernel")
        over = threading.Event()

        def poll():  # as an open page does
            while not over.wait(0.5):
                try:
                    for path in ("/api/kernels", "/api/sessions", "/api/terminals", "/api/status", "/api/contents"):
                        page.ask("GET", path)
                except (OSError, http.client.HTTPException):
                    pass
        poller = threading.Thread(target=poll)
        poller.start()
        self.addCleanup(poller.join)
        self.addCleanup(over.set)
        self.cluster.api.call("PUT", "/v1/objects/idle_rule/all", {"no_input_for_s": 8, "grace_s": 0, "warning_s": 3})
        ended = self.cluster.wait(tab.job, limit_s=90)
        self.assertEqual(ended["state"], "stopped_idle")
        self.assertRegex(ended["idle"]["evidence"], r"^no input for \d+ s \(limit 8 s\)$")
        self.assertEqual(self.cluster.job(night.job)["state"], "running")
        events = self.cluster.api.call("GET", f"/v1/events?job={night.job}&kind=IdleObserved")["events"]
        self.assertEqual(events, [], "the night's training was never warned")

    def test_an_editor_lasts_as_long_as_its_page_and_one_that_nobody_opened_ends(self):
        opened, unopened = (self.session("code", f"--program={CODE}/bin/code-server", "-c", "1") for _ in range(2))
        port, _ = opened.url()
        unopened.url()
        closed = threading.Event()

        def look():  # on one connection, as a page does that stays open
            page = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            while not closed.wait(1):
                page.request("GET", "/static/out/browser/serviceWorker.js")
                page.getresponse().read()
            page.close()
        page = threading.Thread(target=look)
        page.start()
        self.addCleanup(page.join)
        self.addCleanup(closed.set)
        # Before the rule is there: it would be right to warn of a page that its node has not reported yet.
        until(lambda: self.cluster.api.call("GET", f"/v1/jobs/{opened.job}/use")["last_input"], 60, "the page to be noticed")
        opened_at = time.monotonic()
        self.cluster.api.call("PUT", "/v1/objects/idle_rule/all", {"no_input_for_s": 10, "grace_s": 0, "warning_s": 2})
        self.assertEqual(self.cluster.wait(unopened.job, limit_s=60)["state"], "stopped_idle")
        # Its heart beats once a minute, which is longer than the rule's limit.
        while time.monotonic() < opened_at + 75:
            self.assertEqual(self.cluster.job(opened.job)["state"], "running")
            time.sleep(1)
        events = self.cluster.api.call("GET", f"/v1/events?job={opened.job}&kind=IdleObserved")["events"]
        self.assertEqual(events, [], "its page is open")
        closed.set()
        self.assertEqual(self.cluster.wait(opened.job, limit_s=100)["state"], "stopped_idle")


if __name__ == "__main__":
    if not os.path.exists(APPS + "/jupyter-lab") or not os.path.exists(CODE + "/ready"):
        print("skipped: JupyterLab or code-server is missing (tools/peer_tools)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
