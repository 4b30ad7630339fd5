#include "apps/desktop_program.h"

namespace dove::apps {

const char kDesktop[] = R"py(import datetime
import http.server
import ipaddress
import os
import secrets
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse
from base64 import b64encode
from hashlib import sha1

SOCKETS = os.environ["DOVE_SOCKETS"]
APP, RFB, COOKIE = SOCKETS + "/app", SOCKETS + "/rfb", SOCKETS + "/xauthority"
START = "/vnc.html?autoconnect=true&reconnect=true&resize=remote"
PAGES = ("/usr/share/novnc", "/usr/local/share/novnc", "/opt/novnc", "/opt/noVNC")
WHOLE = ("x-session-manager", "xfce4-session", "mate-session", "startlxqt", "icewm-session", "openbox-session")
BARE = ("x-window-manager", "openbox", "fluxbox", "icewm", "twm")
# Of the place that the job was submitted from, where these lead to another desktop.
FOREIGN = ("WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SESSION_MANAGER", "XDG_SESSION_ID", "XDG_SEAT", "XDG_VTNR",
           "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP", "DESKTOP_SESSION")
FRAME_MOST = 1 << 24
used_at = time.time()


def first(programs):
    return next((program for program in programs if shutil.which(program)), None)


def needed():
    """The X server, noVNC's folder and the session; ends where one of them is missing."""
    server = first(("Xtigervnc", "Xvnc"))
    pages = next((folder for folder in PAGES if os.path.exists(folder + "/vnc.html")), None)
    session = sys.argv[1:] or [first(WHOLE + BARE)]
    missing = [] if server else [("Xtigervnc", "tigervnc-standalone-server")]
    missing += [] if pages else [("noVNC (" + PAGES[0] + ")", "novnc")]
    missing += [] if session[0] else [("window manager", "openbox xterm")]
    if session[0] and not shutil.which(session[0]):
        missing.append((f"program '{session[0]}'", ""))
    for name, _ in missing:
        print("there is no", name, "on", socket.gethostname(), file=sys.stderr)
    if missing:
        packages = " ".join(package for _, package in missing if package)
        print("add to the image, or to the node: apt-get install", packages, file=sys.stderr) if packages else None
        sys.exit(127)
    return server, pages, session


def start_display(server):
    """The X server, which listens on sockets alone, and the number of its display."""
    for path in (APP, RFB, COOKIE):
        if os.path.lexists(path):
            os.unlink(path)
    name, cookie = b"MIT-MAGIC-COOKIE-1", secrets.token_bytes(16)
    with open(os.open(COOKIE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"\xff\xff" + bytes(4) + bytes([0, len(name)]) + name + bytes([0, len(cookie)]) + cookie)
    said, says = os.pipe()
    display = subprocess.Popen(
        [server, "-displayfd", str(says), "-auth", COOKIE, "-nolisten", "tcp", "-rfbport", "-1", "-rfbunixpath", RFB,
         "-SecurityTypes", "None", "-AlwaysShared", "-geometry", "1600x900", "-depth", "24",
         "-desktop", "desktop of job " + os.environ.get("DOVE_JOB_ID", "")],
        pass_fds=[says], stdin=subprocess.DEVNULL)
    os.close(says)
    with os.fdopen(said) as answer:
        number = answer.readline().strip()
    if not number:
        sys.exit(f"{server} did not start: exit code {display.wait()}")
    return display, ":" + number


def bus(environment):
    """What gives a session a D-Bus of its own; nothing where that does not work, as in an image without its settings."""
    words = ["dbus-run-session", "--"]
    try:
        tried = subprocess.run(words + ["true"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return words if tried.returncode == 0 else []


def start_session(words, display):
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    environment.update(DISPLAY=display, XAUTHORITY=COOKIE, XDG_SESSION_TYPE="x11")
    session = subprocess.Popen(bus(environment) + words, env=environment, stdin=subprocess.DEVNULL)
    terminal = first(("x-terminal-emulator", "xterm"))
    if terminal and os.path.basename(os.path.realpath(shutil.which(words[0]))) in BARE + ("openbox-session",):
        subprocess.Popen([terminal], env=environment, stdin=subprocess.DEVNULL)
    return session


class Input:
    """Finds keys and the pointer in what a viewer sends (RFC 6143). The rest is its own, such as asking for the picture."""

    SIZES = {0: 20, 3: 10, 4: 8, 5: 6, 150: 10, 250: 4, 255: 12}
    PERSON = (4, 5, 255)

    def __init__(self):
        self.bytes, self.skip, self.greeted, self.lost = b"", 0, False, False

    def size(self, head):
        """Of the message that begins there; None: that is not known yet."""
        if not self.greeted:  # its version, the kind of security, and whether it shares
            return (13 if head.startswith(b"RFB 003.003") else 14) if len(head) >= 12 else None
        counts = {2: (4, 2, 4, 4), 6: (8, 4, 8, 1), 248: (9, 8, 9, 1), 251: (8, 6, 7, 16)}
        if head[0] not in counts:
            self.lost = self.lost or head[0] not in self.SIZES or head[:2] > b"\xff\x00"
            return self.SIZES.get(head[0], 1)
        needs, begin, end, each = counts[head[0]]
        if len(head) < needs:
            return None
        return needs + each * abs(int.from_bytes(head[begin:end], "big", signed=head[0] == 6))

    def feed(self, data):
        found, self.bytes = False, self.bytes + data
        while self.bytes and not self.lost:
            if self.skip == 0:
                self.skip = self.size(self.bytes) or 0
                if self.skip == 0:
                    return found
                found = found or (self.greeted and self.bytes[0] in self.PERSON)
                self.greeted = True
            taken = min(self.skip, len(self.bytes))
            self.bytes, self.skip = self.bytes[taken:], self.skip - taken
        self.bytes = b"" if self.lost else self.bytes
        return found or self.lost


def is_own_page(headers):
    """A port of loopback is open to all pages in a browser: only one that came from it may look. The cluster's proxy has
    judged by itself whom it lets in."""
    host, origin = headers.get("Host", ""), headers.get("Origin")
    if origin and origin.split("://")[-1] != host:
        return False
    name = urllib.parse.urlsplit("//" + host).hostname
    if headers.get("X-Forwarded-User") or name == "localhost":
        return True
    try:
        return bool(ipaddress.ip_address(name or ""))
    except ValueError:
        return False


class Visit(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "-"

    def log_message(self, *words):
        pass

    def list_directory(self, path):
        self.send_error(404)

    def reply(self, status, text, headers=()):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(text)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/":
            return self.reply(302, b"", [("Location", START)])
        if path == "/activity":
            at = datetime.datetime.fromtimestamp(used_at, datetime.timezone.utc)
            return self.reply(200, b'{"last_activity":"%s"}' % at.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode(),
                              [("Content-Type", "application/json")])
        if path == "/websockify":
            return self.bridge()
        super().do_GET()

    def bridge(self):
        key = self.headers.get("Sec-WebSocket-Key")
        self.close_connection = True
        if not key or self.headers.get("Upgrade", "").lower() != "websocket":
            return self.reply(400, b"this is for WebSockets\n")
        if not is_own_page(self.headers):
            return self.reply(403, b"this page is of another origin\n")
        with socket.socket(socket.AF_UNIX) as screen:
            screen.connect(RFB)
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            accept = sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            self.send_header("Sec-WebSocket-Accept", b64encode(accept).decode())
            if "binary" in self.headers.get("Sec-WebSocket-Protocol", ""):
                self.send_header("Sec-WebSocket-Protocol", "binary")
            self.end_headers()
            self.writing = threading.Lock()
            down = threading.Thread(target=self.bring_down, args=(screen,), daemon=True)
            down.start()
            try:
                self.bring_up(screen)
            except OSError:
                pass
            for one in (screen, self.connection):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            down.join()

    def say(self, kind, data):
        size = len(data)
        length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else (
            b"\x7f" + size.to_bytes(8, "big"))
        with self.writing:
            self.connection.sendall(bytes([0x80 | kind]) + length + data)

    def bring_down(self, screen):
        try:
            while data := screen.recv(1 << 16):
                self.say(2, data)
            self.say(8, b"\x03\xe8")
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def bring_up(self, screen):
        global used_at
        watch = Input()
        while len(head := self.rfile.read(2)) == 2 and head[1] & 128:
            kind, size = head[0] & 15, head[1] & 127
            if size > 125:
                size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
            if kind == 8 or size > FRAME_MOST:
                return
            mask, data = self.rfile.read(4), self.rfile.read(size)
            if len(data) < size:
                return
            mask = (mask * (size // 4 + 1))[:size]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(size, "big")
            if kind == 9:
                self.say(10, data)
            elif kind < 3:
                used_at = time.time() if watch.feed(data) else used_at
                screen.sendall(data)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass  # a browser that went away


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    server, pages, words = needed()
    display, name = start_display(server)
    session = None
    try:
        session = start_session(words, name)
        os.umask(0o077)
        app = Server(APP, lambda *visit: Visit(*visit, directory=pages))
        threading.Thread(target=app.serve_forever, daemon=True).start()
        print(f"{words[0]} runs on display {name}", flush=True)
        while True:
            ended, status = os.wait()
            if ended in (display.pid, session.pid):
                print(words[0] if ended == session.pid else server, "has ended", file=sys.stderr)
                return os.waitstatus_to_exitcode(status)
    finally:
        for child in (session, display):
            if child and child.poll() is None:
                child.terminate()
        os.unlink(COOKIE)


sys.exit(main())
)py";

}  // namespace dove::apps
