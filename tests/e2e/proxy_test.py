#!/usr/bin/env python3
"""`dove proxy` with real processes: how a browser is let in, what passes and what does not, sharing, waiting, and apps that
are silent or dead. The browser is a plain HTTP client that says what a browser would."""
# limit_s: 180
import base64
import hashlib
import http.client
import json
import os
import socket
import unittest
from urllib.parse import parse_qs, urlsplit

from cluster import ApiError, Cluster, until
from ports import free_port

APP = r'''
import base64, hashlib, http.server, json, os, socketserver, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self):
        return "-"
    def log_message(self, *words):
        pass
    def reply(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            return self.echo()
        if self.path.startswith("/set"):
            return self.reply(b"set", headers=[("Set-Cookie", "own=1; Path=/"), ("Set-Cookie", "dove-session-1=stolen"),
                ("Set-Cookie", "__Host-dove=stolen; Path=/; Secure"), ("Set-Cookie", "wide=1; Domain=localhost"),
                ("Clear-Site-Data", '"*"'), ("Strict-Transport-Security", "max-age=9")])
        if self.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for word in ("one", "two"):
                text = f"data: {word}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.wfile.flush()
                if word == "one":
                    GO.wait(20)
            return self.wfile.write(b"0\r\n\r\n")
        if self.path == "/go":
            GO.set()
        if self.path == "/end":
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            return self.wfile.write(b"until the end")
        if self.path.startswith("/big"):
            size = int(self.path.split("=")[1])
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            piece = bytes(65536)
            while size > 0:
                self.wfile.write(piece[:size])
                size -= len(piece[:size])
            return
        if self.path == "/die":
            print("the app is broken <b>", file=sys.stderr, flush=True)
            os._exit(3)
        self.reply(json.dumps({"path": self.path, "headers": self.headers.items(), "peer": id(self.connection)}).encode())
    do_HEAD = do_GET
    def do_POST(self):
        digest, count = hashlib.sha256(), 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                digest.update(self.rfile.read(size))
                self.rfile.readline()
                count += size
            self.rfile.readline()
        else:
            left = int(self.headers["Content-Length"])
            while left > 0:
                piece = self.rfile.read(min(left, 1 << 16))
                digest.update(piece)
                left -= len(piece)
                count += len(piece)
        self.reply(f"{count} {digest.hexdigest()}".encode())
    def echo(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 127
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([head[0], len(text)]) + text)
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
GO = threading.Event()
Server(os.environ["DOVE_SOCKETS"] + "/app", Handler).serve_forever()
'''


class Browser:
    """Cookies by host, and one connection for each request."""

    def __init__(self, port):
        self.port = port
        self.cookies = {}

    def ask(self, host, target, method="GET", body=None, port=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        said = {"Host": host, "Accept": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if cookies := self.cookies.get(host):
            said["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        connection.request(method, target, body, said)
        answer = connection.getresponse()
        answer.text = answer.read()
        for line in answer.headers.get_all("Set-Cookie") or []:
            self.keep(host, line)
        connection.close()
        return answer

    def keep(self, host, line):
        name, value = line.split(";")[0].split("=", 1)
        jar = self.cookies.setdefault(host, {})
        jar.pop(name, None)
        if "Max-Age=0" not in line:
            jar[name] = value


class Proxied(unittest.TestCase):
    agent_options = []

    @classmethod
    def place(cls):
        cls.port = free_port()
        return f"http://*.localhost:{cls.port}", ["--domain", "localhost", "--port", str(cls.port)]

    @classmethod
    def setUpClass(cls):
        tries = 3  # somebody else may take the port before the proxy does
        while not cls.begins(*cls.place()):
            tries -= 1
            assert tries, "the proxy does not begin"
        cls.cookies = {}
        cls.job = cls.start_app()

    @classmethod
    def begins(cls, url, options):
        cls.cluster = Cluster(nodes=1, server_options=["--sessions-url", url], agent_options=cls.agent_options).__enter__()
        cls.tokens = {name: cls.cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
                      for name in ("ada", "bob")}
        cls.proxy = cls.cluster.spawn("proxy", "--url", cls.cluster.url, *options,
                                      *(["--ca-file", cls.cluster.ca_file()] if cls.cluster.ca_file() else []),
                                      stdout=-1)
        line = cls.proxy.stdout.readline().decode()
        if line:
            assert f"--sessions-url {url}" in line, line
            return True
        cls.tearDownClass()
        return False

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stdout.close()
        cls.proxy.kill()
        cls.proxy.wait(10)
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def start_app(cls, program=APP, runs=True, **more):
        job = cls.cluster.api.call("POST", "/v1/jobs", {
            "name": "lab", "command": ["/usr/bin/python3", "-c", program], "cores": 1,
            "app": {"name": "notebook", "socket": "app", "path": "/lab"}, **more}, {"X-Dove-User": "ada"})["id"]
        if runs:
            cls.cluster.wait_state(job, "running")
        return job

    def host(self, job=None):
        return f"j{job or self.job}.localhost:{self.port}"

    # Signs in at the console as a page of it does.
    def console(self, who):
        status, headers, text = self.cluster.api.raw("POST", "/v1/sign-in", {"token": self.tokens[who]},
                                                     {"Authorization": "", "Origin": self.cluster.url})
        self.assertEqual(status, 201, text)
        return headers["Set-Cookie"].split(";")[0]

    # As the console's page asks for one.
    def code(self, who, job, state):
        if who not in self.cookies:
            self.cookies[who] = self.console(who)
        status, _, text = self.cluster.api.raw(
            "POST", f"/v1/jobs/{job}/entries", {"state": state},
            {"Authorization": "", "Cookie": self.cookies[who], "Origin": self.cluster.url})
        self.assertEqual(status, 201, text)
        return json.loads(text)["code"]

    # The whole way of a browser; what the app's origin answers in the end.
    def enter(self, who="ada", job=None, path="/lab?x=1"):
        browser = Browser(self.port)
        host = self.host(job)
        sent = browser.ask(host, path)
        self.assertEqual(sent.status, 303, sent.text)
        where = urlsplit(sent.headers["Location"])
        self.assertEqual(f"{where.scheme}://{where.netloc}", self.cluster.url)
        self.assertEqual(where.path, f"/enter/{job or self.job}")
        asked = {name: values[0] for name, values in parse_qs(where.query).items()}
        self.assertEqual(asked.get("path", ""), path)
        code = self.code(who, job or self.job, asked["state"])
        let_in = browser.ask(host, f"/.dove/enter?job={job or self.job}&code={code}&path={asked['path'].replace('?', '%3F')}")
        self.assertEqual(let_in.status, 303, let_in.text)
        self.assertEqual(let_in.headers["Location"], path)
        return browser, host

    def ready(self, browser, host):
        until(lambda: browser.ask(host, "/x").status == 200, 30, "the app to answer")

    def seen_by_app(self, browser, host, **headers):
        answer = browser.ask(host, "/x", **headers)
        self.assertEqual(answer.status, 200, answer.text)
        return json.loads(answer.text)["headers"]

    def web_socket(self, browser, host, path="/ws", **headers):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.get(host, {}).items())
        said = {"Host": host, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), "Cookie": cookies, **headers}
        connection.sendall((f"GET {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in said.items()) + "\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(1)
            if not piece:
                break
            head += piece
        return connection, int(head.split()[1])


class Entering(Proxied):
    def test_a_browser_is_let_in_and_keeps_its_session(self):
        browser, host = self.enter()
        self.ready(browser, host)
        lines = browser.cookies[host]
        self.assertEqual(list(lines), [f"dove-session-{self.job}"])
        answer = browser.ask(host, "/lab?x=1")
        self.assertEqual(json.loads(answer.text)["path"], "/lab?x=1")

    def test_a_code_is_of_no_use_in_another_browser_nor_twice(self):
        victim, thief, host = Browser(self.port), Browser(self.port), self.host()
        state = parse_qs(urlsplit(victim.ask(host, "/").headers["Location"]).query)["state"][0]
        code = self.code("ada", self.job, state)
        enter = f"/.dove/enter?job={self.job}&code={code}&path=/"
        self.assertEqual(thief.ask(host, enter).status, 400)  # no nonce at all
        thief.ask(host, "/")
        self.assertEqual(thief.ask(host, enter).status, 403)  # one of its own; the code is used up
        self.assertEqual(victim.ask(host, enter).status, 403)

    def test_nobody_gets_in_without(self):
        browser, host = Browser(self.port), self.host()
        self.assertEqual(browser.ask(host, "/api", Accept="*/*").status, 401)
        self.assertEqual(browser.ask(host, "/", method="POST", body=b"x").status, 401)
        browser.cookies[host] = {f"dove-session-{self.job}": "forged"}
        self.assertEqual(browser.ask(host, "/api", Accept="*/*").status, 401)
        self.assertEqual(self.web_socket(browser, host, Origin=f"http://{host}")[1], 401)

    def test_a_host_that_is_nobodys(self):
        browser, _ = self.enter()
        for host in ("evil.org", f"localhost:{self.port}", f"j0{self.job}.localhost:{self.port}", "", f"j{self.job}.localhost"):
            answer = browser.ask(host, "/")
            self.assertEqual(answer.status, 421 if host else 421, (host, answer.text))
            self.assertIn(b"no session has the address", answer.text)

    def test_only_paths_of_the_own_origin_are_gone_on_to(self):
        host = self.host()
        for path in ("//evil.org", "/%5Cevil.org", "https://evil.org", "/.dove/enter", "/a%0d%0aX: y"):
            browser = Browser(self.port)
            sent = browser.ask(host, "/")
            code = self.code("ada", self.job, parse_qs(urlsplit(sent.headers["Location"]).query)["state"][0])
            let_in = browser.ask(host, f"/.dove/enter?job={self.job}&code={code}&path={path.replace(' ', '%20')}")
            self.assertEqual((let_in.status, let_in.headers["Location"]), (303, "/lab"), path)

    def test_a_session_of_one_job_opens_no_other(self):
        browser, host = self.enter()
        other = self.start_app()
        browser.cookies[self.host(other)] = {name.replace(str(self.job), str(other)): value
                                             for name, value in browser.cookies[host].items()}
        self.assertEqual(browser.ask(self.host(other), "/", Accept="*/*").status, 401)


class Passing(Proxied):
    def setUp(self):
        self.browser, self.where = self.enter()
        self.ready(self.browser, self.where)

    def test_cookies_leak_in_neither_direction(self):
        self.browser.cookies[self.where].update({"own": "1", "__Host-dove": "console"})
        seen = dict(self.seen_by_app(self.browser, self.where, Authorization="Bearer dovekey_x", X_Forwarded_User="root"))
        self.assertEqual(seen["Cookie"], "own=1")
        self.assertNotIn("Authorization", seen)
        self.assertEqual(seen["Host"], self.where)
        self.assertEqual(seen["X-Forwarded-User"], "ada")
        self.assertEqual(seen["X-Forwarded-Host"], self.where)
        answer = self.browser.ask(self.where, "/set")
        self.assertEqual(answer.headers.get_all("Set-Cookie"), ["own=1; Path=/"])
        self.assertNotIn("Clear-Site-Data", answer.headers)
        self.assertNotIn("Strict-Transport-Security", answer.headers)

    def test_requests_share_a_link(self):
        peers = {json.loads(self.browser.ask(self.where, "/x").text)["peer"] for _ in range(5)}
        self.assertEqual(len(peers), 1)

    def test_many_requests_at_once_leave_their_links_to_the_next(self):
        said = {"Host": self.where, "Cookie": "; ".join(map("=".join, self.browser.cookies[self.where].items()))}
        open_ones = [http.client.HTTPConnection("127.0.0.1", self.port, timeout=30) for _ in range(60)]

        def peers():
            for connection in open_ones:
                connection.request("GET", "/x", headers=said)
            return {json.loads(connection.getresponse().read())["peer"] for connection in open_ones}

        # As many links as there are requests at once, which the first round need not reach on a busy machine.
        self.assertLess(len(peers() | peers() | peers()), 70)
        list(map(http.client.HTTPConnection.close, open_ones))

    def test_bodies_pass_as_they_come(self):
        block = os.urandom(5 << 20)
        wanted = f"{len(block)} {hashlib.sha256(block).hexdigest()}".encode()
        own = {"Origin": f"http://{self.where}"}
        self.assertEqual(self.browser.ask(self.where, "/up", "POST", block, **own).text, wanted)
        pieces = (block[at:at + 100_000] for at in range(0, len(block), 100_000))
        self.assertEqual(self.browser.ask(self.where, "/up", "POST", pieces, **own).text, wanted)
        self.assertEqual(len(self.browser.ask(self.where, f"/big?n={64 << 20}").text), 64 << 20)
        self.assertEqual(self.browser.ask(self.where, "/end").text, b"until the end")
        self.assertEqual(self.browser.ask(self.where, "/x", "HEAD").text, b"")

    def test_events_come_one_by_one(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies[self.where].items())
        connection.request("GET", "/events", headers={"Host": self.where, "Cookie": cookies})
        answer = connection.getresponse()
        self.assertEqual(answer.readline(), b"data: one\n")
        self.browser.ask(self.where, "/go")
        self.assertEqual(answer.read(), b"\ndata: two\n\n")
        connection.close()

    def test_a_web_socket_is_the_own_pages_alone(self):
        connection, status = self.web_socket(self.browser, self.where, Origin=f"http://{self.where}")
        self.assertEqual(status, 101)
        mask = os.urandom(4)
        connection.sendall(bytes([0x81, 0x80 | 5]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(b"hello")))
        self.assertEqual(connection.recv(7), b"\x81\x05hello")
        connection.close()
        for headers in ({"Origin": "http://evil.org"}, {"Origin": f"http://j99.localhost:{self.port}"}, {}):
            self.assertEqual(self.web_socket(self.browser, self.where, **headers)[1], 403)

    def test_other_pages_requests_are_refused(self):
        for headers in ({"Origin": "http://evil.org"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
                        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}):
            self.assertEqual(self.browser.ask(self.where, "/x", **headers).status, 403, headers)
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        self.assertEqual(self.browser.ask(self.where, "/x", **link).status, 200)

    def test_requests_that_could_be_read_in_two_ways(self):
        for rest in ("Content-Length: 3\r\nTransfer-Encoding: chunked", "Content-Length: 3\r\nContent-Length: 4",
                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Content-Length : 3"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=10) as raw:
                raw.sendall(f"POST / HTTP/1.1\r\nHost: {self.where}\r\n{rest}\r\n\r\nabc".encode())
                self.assertIn(b" 400 ", raw.recv(64), rest)
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000)
            self.assertIn(b" 431 ", raw.recv(64))



class Sharing(Proxied):
    def test_by_name_and_taken_back(self):
        with self.assertRaises(ApiError) as refused:
            self.cluster.api.call("POST", f"/v1/jobs/{self.job}/entries", {"state": "0" * 64},
                                  {"Authorization": "Bearer " + self.tokens["bob"]})
        self.assertEqual(refused.exception.body["code"], "not_yours")
        said = self.cluster.run("share", str(self.job), "bob", DOVE_TOKEN=self.tokens["ada"]).stdout
        self.assertEqual(said, f"job {self.job} is shared with bob\n")
        self.assertIn("Shared with bob", self.cluster.run("show", str(self.job), DOVE_TOKEN=self.tokens["ada"]).stdout)
        browser, host = self.enter("bob")
        self.ready(browser, host)
        self.assertEqual(dict(self.seen_by_app(browser, host))["X-Forwarded-User"], "bob")
        opened = self.cluster.run("open", str(self.job), DOVE_TOKEN=self.tokens["bob"]).stdout
        self.assertIn(f"is at http://{host}/lab", opened)
        connection, status = self.web_socket(browser, host, Origin=f"http://{host}")
        self.assertEqual(status, 101)
        self.cluster.run("share", str(self.job), "--remove", "bob", DOVE_TOKEN=self.tokens["ada"])
        connection.settimeout(10)
        self.assertEqual(connection.recv(1), b"")
        self.assertEqual(browser.ask(host, "/x", Accept="*/*").status, 401)


class Waiting(Proxied):
    def test_the_page_says_why_and_looks_again(self):
        job = self.start_app(runs=False, hold=True)
        browser, host = self.enter(job=job)
        page = browser.ask(host, "/lab")
        self.assertEqual(page.status, 503)
        text = page.text.decode()
        self.assertIn(f"Job {job} is held", text)
        self.assertEqual(page.headers["Refresh"], "3")
        self.assertNotIn("<script", text)
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        self.assertEqual(json.loads(browser.ask(host, "/lab", Accept="*/*").text)["code"], "not_running")
        self.cluster.api.call("POST", f"/v1/jobs/{job}/release")
        self.ready(browser, host)

    def test_an_app_that_does_not_serve_yet_is_starting(self):
        job = self.start_app("import time\ntime.sleep(600)")
        browser, host = self.enter(job=job)
        page = browser.ask(host, "/lab")
        self.assertEqual(page.status, 503)
        self.assertIn(b"is starting", page.text)
        self.cluster.api.call("POST", f"/v1/jobs/{job}/cancel")

    def test_an_app_that_breaks_off_is_a_bad_gateway(self):
        job = self.start_app("import sys\nprint('cannot think <b>', file=sys.stderr, flush=True)\n"
                             "import os,socket\ns=socket.socket(socket.AF_UNIX)\ns.bind(os.environ['DOVE_SOCKETS']+'/app')\n"
                             "s.listen()\nwhile True:\n  c,_=s.accept()\n  c.recv(9)\n  c.sendall(b'nonsense\\r\\n\\r\\n')\n  c.close()\n")
        browser, host = self.enter(job=job)
        until(lambda: browser.ask(host, "/lab").status == 502, 30, "the app to be asked")
        page = browser.ask(host, "/lab").text.decode()
        self.assertIn("does not answer", page)
        self.assertIn("cannot think &lt;b&gt;", page)

    def test_one_that_has_ended_says_how(self):
        job = self.start_app()
        browser, host = self.enter(job=job)
        self.ready(browser, host)
        browser.ask(host, "/die")
        self.cluster.wait(job)
        page = browser.ask(host, "/lab")
        self.assertEqual(page.status, 410)
        self.assertIn("the app is broken &lt;b&gt;", page.text.decode())

    def test_a_job_without_an_app(self):
        job = self.cluster.api.call("POST", "/v1/jobs", {"command": ["sleep", "60"]}, {"X-Dove-User": "ada"})["id"]
        with self.assertRaises(ApiError) as refused:
            self.cluster.api.call("POST", f"/v1/jobs/{job}/entries", {"state": "0" * 64})
        self.assertEqual(refused.exception.body["code"], "no_app")


if __name__ == "__main__":
    del Proxied  # it is the others' beginning, and no test
    unittest.main()
