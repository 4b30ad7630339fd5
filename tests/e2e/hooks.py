"""What a site may have in place of our ways to check a password, for sign_in_hook_test.py: a program, an HTTP server, and
a Keystone, each of which does as the name that it is asked about says. They are fakes; the password is PASSWORD."""
import http.server
import json
import os
import ssl
import subprocess
import threading
import urllib.parse

PASSWORD = "canary: open \"sesame\" é"

PROGRAM = """#!/usr/bin/python3 -I
import fcntl, json, os, subprocess, sys, time
FOLDER, PASSWORD = @FOLDER@, @PASSWORD@
asked = json.load(sys.stdin)
user = asked["user"]

def note(name, text):
    with open(os.path.join(FOLDER, name), "a") as file:
        file.write(text + "\\n")

note("begun-" + user, "")
if asked["password"] != PASSWORD:
    sys.exit(1)
if user == "shows":
    descriptors = [name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
    note("shown", json.dumps({"environment": dict(os.environ), "descriptors": descriptors, "arguments": sys.argv,
                              "leads": os.getsid(0) == os.getpid(), "address": asked["address"],
                              "fields": sorted(asked), "version": asked["version"]}))
elif user == "locked":
    print(json.dumps({"refused": "locked since Monday"}))
    sys.exit()
elif user == "slow":
    time.sleep(60)
elif user == "waits":
    with open(os.path.join(FOLDER, "lock")) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
elif user == "floods":
    os.write(1, json.dumps({"user": user}).encode())
    for _ in range(10):
        os.write(1, b" " * (1 << 20))
elif user == "leaves":
    note("left", str(subprocess.Popen(["/bin/sleep", "300"]).pid))
elif user == "noise":
    print("let them in")
    sys.exit()
elif user == "breaks":
    print("no such key in", json.dumps(asked), file=sys.stderr)
    sys.exit(3)
elif user == "explains":
    print("the directory is down", file=sys.stderr)
    sys.exit(7)
elif user == "strange":
    user = "not a name"
groups = ["ml", "/physics/hep"] if user == "grace" and not os.path.exists(FOLDER + "/no-groups") else []
print(json.dumps({"user": user, "groups": groups}))
"""


def make_program(folder):
    """The path of a hook that is a program."""
    path = os.path.join(folder, "hook")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o700), "w") as file:
        file.write(PROGRAM.replace("@FOLDER@", repr(folder)).replace("@PASSWORD@", repr(PASSWORD)))
    return path


class Server:
    """Answers on loopback with what answer(method, path, headers, body) gives: (status, headers, bytes)."""

    def __init__(self, tls=None):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path))
                status, headers, text = outer.answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:
                    pass  # whoever asked has enough

            do_GET = do_POST = do_DELETE = handle_one

            def log_message(self, *_):
                pass

        self.asked = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HttpHook(Server):
    def __init__(self, tls=None):
        self.goes_on = threading.Event()
        super().__init__(tls)

    def close(self):
        self.goes_on.set()
        super().close()

    def answer(self, method, path, headers, body):
        asked = json.loads(body)
        if method != "POST" or headers["Content-Type"] != "application/json" or asked["version"] != 1:
            return 400, {}, b""
        user = asked["user"]
        if asked["password"] != PASSWORD:
            return 401, {}, b""
        if user == "slow":
            self.goes_on.wait(60)
        if user == "moved":
            return 302, {"Location": self.url + "/elsewhere"}, b""
        if user == "breaks":
            return 500, {}, body
        if user == "created":
            return 201, {}, json.dumps({"user": user}).encode()
        if user == "noise":
            return 200, {}, b"<html>"
        if user == "locked":
            return 200, {}, json.dumps({"refused": "locked"}).encode()
        padding = b" " * (70_000 if user == "floods" else 0)
        return 200, {}, json.dumps({"user": user, "groups": ["ml"]}).encode() + padding


class Keystone(Server):
    """Keystone v3, as far as a hook needs it: ada has two roles in `gpu`, eve none, mallory is of another domain."""

    def __init__(self):
        self.tokens = set()
        self.status = 201
        super().__init__()

    def answer(self, method, path, headers, body):
        path = urllib.parse.urlsplit(path).path
        if path != "/identity/v3/auth/tokens":
            return 404, {}, b""
        if method == "DELETE":
            if headers["X-Auth-Token"] not in self.tokens:
                return 401, {}, b""
            self.tokens.discard(headers["X-Subject-Token"])
            return 204, {}, b""
        auth = json.loads(body)["auth"]
        user = auth["identity"]["password"]["user"]
        assert auth["identity"]["methods"] == ["password"] and user["domain"] == {"name": "Site"}
        assert auth["scope"] == {"project": {"name": "gpu", "domain": {"name": "Site"}}}
        if user["password"] != PASSWORD or user["name"] == "eve":
            return 401, {}, b'{"error": {"code": 401}}'
        if self.status != 201:
            return self.status, {}, body
        token = f"token-{len(self.asked)}"
        self.tokens.add(token)
        domain = {"id": "d1", "name": "Elsewhere" if user["name"] == "mallory" else "Site"}
        answer = {"token": {"user": {"id": "id-of-" + user["name"], "name": user["name"], "domain": domain},
                            "project": {"id": "p1", "name": "gpu", "domain": {"id": "d1", "name": "Site"}},
                            "roles": [{"name": "member"}, {"name": "reader"}, {"name": "odd/one"}]}}
        return 201, {"X-Subject-Token": token}, json.dumps(answer).encode()


def own_certificate(folder):
    """(TLS context of a server on 127.0.0.1, its certificate's file), which no system's authority has signed."""
    key, certificate = (os.path.join(folder, name) for name in ("hook.key", "hook.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=hook", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate
