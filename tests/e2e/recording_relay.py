"""A relay on loopback between a client that is no Python of ours (`dove`, a browser) and the server: it changes nothing, and
hands each whole request with its answer to a Recorder (contract.py) once the connection is over.

    relay = RecordingRelay(lambda: cluster.port, Api.recorder)
    subprocess.run([DOVE, "ps"], env={..., "DOVE_URL": relay.url})
    relay.close()

What is cut off, goes on after an upgrade (a WebSocket), is longer than BYTES_MAX or is no operation below /v1/ (a page) is
carried and not recorded. Plain HTTP only. Standard library only.
"""
import http.client
import io
import socket
import threading

BYTES_MAX = 4 << 20  # kept of each way of a connection
PIECE_BYTES = 65536


class Answer(io.BytesIO):
    """What http.client takes for a socket."""

    def makefile(self, *_):
        return self

    def close(self):
        """It goes on behind one answer."""


def requests(sent):
    """(method, target, body) of each whole request, up to one that asks for another protocol."""
    while True:
        head, end, rest = sent.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        if "upgrade" in headers or "transfer-encoding" in headers or len(rest) < size:
            return
        yield method, target, rest[:size]
        sent = rest[size:]


def record(sent, got, recorder):
    answers = Answer(got)
    for method, target, body in requests(sent):
        answer = http.client.HTTPResponse(answers, method=method)
        try:
            answer.begin()
            text = answer.read()
        except (http.client.HTTPException, ValueError, OSError):
            return
        if target.startswith("/v1/"):
            recorder.add(method, target, body, answer.status, dict(answer.getheaders()), text)


class RecordingRelay:
    def __init__(self, port, recorder):
        self.port, self.recorder = port, recorder
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock, self.open, self.carriers = threading.Lock(), set(), []
        self.accepts = threading.Thread(target=self.accept, daemon=True)
        self.accepts.start()

    def close(self):
        """Ends what is open, and waits until all is recorded."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepts.join(10)
        self.listener.close()
        with self.lock:
            for end in self.open:
                self.shut(end, socket.SHUT_RDWR)
        for carrier in self.carriers:
            carrier.join(10)

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            carrier = threading.Thread(target=self.carry, args=[near], daemon=True)
            self.carriers.append(carrier)
            carrier.start()

    def carry(self, near):
        try:
            far = socket.create_connection(("127.0.0.1", self.port()), timeout=10)
        except OSError:
            near.close()
            return
        ends = (near, far)
        with self.lock:
            self.open.update(ends)
        for end in ends:
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        kept = [bytearray(), bytearray()]
        other_way = threading.Thread(target=self.copy, args=[near, far, kept[0]], daemon=True)
        other_way.start()
        self.copy(far, near, kept[1])
        other_way.join()
        with self.lock:
            self.open.difference_update(ends)
        for end in ends:
            end.close()
        record(bytes(kept[0]), bytes(kept[1]), self.recorder)

    def copy(self, source, target, kept):
        try:
            while piece := source.recv(PIECE_BYTES):
                kept += piece[:BYTES_MAX - len(kept)]
                target.sendall(piece)
        except OSError:
            self.shut(source, socket.SHUT_RD)
        self.shut(target, socket.SHUT_WR)

    @staticmethod
    def shut(end, how):
        try:
            end.shutdown(how)
        except OSError:
            pass
