"""Receivers of notices: a mail server and a web server, which can hang, refuse, go away and come back on the same port.
Standard library only."""
import http.server
import json
import re
import socketserver
import threading


class MailServer:
    """SMTP as RFC 5321 has it, as much as a sender needs. `messages`: (from, to, bytes)."""

    def __init__(self):
        self.messages = []
        self.refused = set()
        self.hangs = threading.Event()
        self.over = threading.Event()
        self.port = 0
        self.start()

    def start(self):
        outer = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self):
                outer.talk(self.rfile, self.wfile)

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", self.port), Session)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def talk(self, lines, out):
        if self.hangs.is_set():
            self.over.wait(60)
            return

        def say(text):
            out.write(text.encode() + b"\r\n")

        say("220 test")
        sender, to = None, []
        for line in lines:
            words = line.decode().strip()
            verb = words[:4].upper()
            if verb in ("EHLO", "HELO"):
                say("250 test")
            elif verb == "MAIL":
                sender = words.split("<")[1].split(">")[0]
                say("250 ok")
            elif verb == "RCPT":
                address = words.split("<")[1].split(">")[0]
                if address in self.refused:
                    say("550 no such mailbox")
                else:
                    to.append(address)
                    say("250 ok")
            elif verb == "DATA":
                say("354 go on")
                text = b""
                while (part := next(lines)) != b".\r\n":
                    text += part[1:] if part.startswith(b"..") else part
                self.messages.append((sender, to, text))
                say("250 taken")
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")


class SlackServer:
    """Incoming webhooks as Slack documents them (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and
    .../formatting-message-text): answers `ok`, or the error that Slack names. `messages`: what the channel would show."""

    CONTROLS = re.compile(r"<([^<>]*)>")

    def __init__(self):
        self.web = WebServer()
        self.web.judge = self.judge
        self.messages = []
        self.refusal = None  # (status, text), such as (404, "no_service")
        self.tries = 0

    def url(self):
        return self.web.url("/services/T000/B000/XXXX")

    def judge(self, path, headers, body):
        """(status, text) of the answer."""
        self.tries += 1
        if not re.fullmatch(r"/services/T\w+/B\w+/\w+", path):
            return 404, "no_service"
        if headers.get("Content-Type") != "application/json":
            return 400, "invalid_payload"
        try:
            message = json.loads(body)
        except ValueError:
            return 400, "invalid_payload"
        if not isinstance(message, dict) or not set(message) <= {"text", "blocks", "attachments", "thread_ts", "response_type",
                                                                 "replace_original", "delete_original", "unfurl_links"}:
            return 400, "invalid_payload"
        text = message.get("text")
        if not isinstance(text, str) or not text or len(text) > 40_000:
            return 400, "no_text"
        if self.refusal:
            return self.refusal
        self.messages.append(text)
        return 200, "ok"

    @classmethod
    def commands(cls, text):
        """What Slack takes for links and mentions."""
        return cls.CONTROLS.findall(text)

    @staticmethod
    def shown(text):
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class WebServer:
    """Keeps what is posted: `posts` are (path, headers, body). `on_post` may do more, before it answers."""

    def __init__(self):
        self.posts = []
        self.status = 200
        self.location = None
        self.hangs = set()  # paths
        self.over = threading.Event()
        self.on_post = None
        self.judge = None  # (path, headers, body) -> (status, text), in place of `status`
        self.port = 0
        self.start()

    def start(self):
        outer = self

        class Session(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.posts.append((self.path, dict(self.headers), body))
                if self.path in outer.hangs:
                    outer.over.wait(60)
                    return
                if outer.on_post:
                    outer.on_post()
                status, text = outer.judge(self.path, self.headers, body) if outer.judge else (outer.status, "")
                self.send_response(status)
                if outer.location:
                    self.send_header("Location", outer.location)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Session)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"
