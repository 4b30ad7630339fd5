"""A link between agents and their controller that loses, delays and cuts off messages: a TCP proxy on loopback.

    with Cluster(nodes=0, tls=True, server_options=BEHIND_LINKS) as cluster, \
            FlakyLink(cluster.port, cluster.agents_port(), drop=0.1, seed=1) as link:
        cluster.agent_url = link.url

What TCP loses it sends again, so a message is lost only with its connection: of every hundred pieces that the proxy
reads, from either side, `drop` of them are thrown away and both ends are reset. Half of the lost ones are answers to
what the controller has already done. `delay_s`: each piece takes up to that much longer, so that what two connections carry,
or both ways of one, changes its order. `cut_bytes`: each way of a connection carries up to that many bytes; then the connection
ends, in the middle of a message. `silent` forwards nothing and closes nothing. All that is random comes from `seed`.

With TLS the server has a second port for agents, and tells them its number alone. So the link listens at both numbers, on
another address of loopback, which the server's certificate must name: BEHIND_LINKS.

LinkProcess is a link, whole or silent, in a process of its own: for more connections than whoever measures could serve
beside its work. Standard library only.
"""
import heapq
import random
import resource
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

HOSTS = ("127.0.0.2", "127.0.0.3")
BEHIND_LINKS = ("--tls-name", ",".join(HOSTS))
PIECE_BYTES = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST


class FlakyLink:
    def __init__(self, port, agents_port=None, host=HOSTS[0], drop=0.0, delay_s=0.0, cut_bytes=0, seed=1, backlog=512):
        self.drop, self.delay_s, self.cut_bytes = drop, delay_s, cut_bytes
        self.silent = False
        self.cut = 0
        self.carried = 0
        self.random = random.Random(seed)
        at = [(host, port), (host, agents_port)] if agents_port else [("127.0.0.1", 0)]
        self.listeners = {socket.create_server(here, backlog=backlog): there for here, there in zip(at, (port, agents_port))}
        own_host, own_port = next(iter(self.listeners)).getsockname()
        self.url = f"{'https' if agents_port else 'http'}://{own_host}:{own_port}"
        self.port = own_port
        self.selector = selectors.DefaultSelector()
        self.ways = {}
        self.later = []  # what is on its way: (when it comes, in which order it came, way, piece)
        self.count = 0
        self.wake_read, self.wake_write = socket.socketpair()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        for one in (*self.listeners, self.wake_read):
            self.selector.register(one, selectors.EVENT_READ)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.wake_write.send(b"x")
        self.thread.join(10)
        for end in (*self.ways, *self.listeners, self.wake_read, self.wake_write):
            end.close()
        self.selector.close()

    def run(self):
        while True:
            for key, _ in self.selector.select(self.until_next_s()):
                if key.fileobj is self.wake_read:
                    return
                if self.silent:
                    self.thread_pause()
                elif key.fileobj in self.listeners:
                    self.accept(key.fileobj)
                elif key.fileobj in self.ways:
                    self.take(self.ways[key.fileobj])
            while self.later and not self.silent and self.later[0][0] <= time.monotonic():
                self.bring(*heapq.heappop(self.later)[2:])

    def until_next_s(self):
        if not self.later or self.silent:
            return 0.1
        return min(0.1, max(0.0, self.later[0][0] - time.monotonic()))

    def thread_pause(self):
        """Nothing is read: senders fill their buffers and hear nothing."""
        threading.Event().wait(0.05)

    def accept(self, listener):
        near, _ = listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.listeners[listener]), timeout=5)
        except OSError:
            self.reset(near)
            return
        for end, other in ((near, far), (far, near)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(5)
            self.ways[end] = Way(end, other, self.random.randrange(self.cut_bytes) if self.cut_bytes else None)
            self.selector.register(end, selectors.EVENT_READ)

    def take(self, way):
        """Reads a piece, and decides what becomes of it."""
        try:
            piece = way.end.recv(PIECE_BYTES)
        except OSError:
            piece = b""
        if piece and self.random.random() < self.drop:
            self.cut += 1
            self.close(way, self.reset)
            return
        if self.delay_s == 0 and way.comes_at == 0:
            self.bring(way, piece)
            return
        if not piece:
            self.selector.unregister(way.end)  # what was read before is yet to come
        way.comes_at = max(way.comes_at, time.monotonic() + self.random.random() * self.delay_s)
        self.count += 1
        heapq.heappush(self.later, (way.comes_at, self.count, way, piece))

    def bring(self, way, piece):
        if way.end not in self.ways:
            return  # its connection was lost meanwhile
        whole = way.carries is None or len(piece) < way.carries
        try:
            way.other.sendall(piece if whole else piece[:way.carries])
        except OSError:
            piece = b""
        if piece and whole:
            self.carried += 1
            way.carries = None if way.carries is None else way.carries - len(piece)
            return
        self.cut += 0 if whole else 1
        self.close(way, socket.socket.close)

    def close(self, way, how):
        for one in (way.end, way.other):
            if one.fileno() in self.selector.get_map():
                self.selector.unregister(one)
            del self.ways[one]
            how(one)

    @staticmethod
    def reset(end):
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        except OSError:
            pass
        end.close()


class Way:
    """One of the two of a connection: from `end` to `other`. carries: how many bytes it does yet; None: all."""

    def __init__(self, end, other, carries):
        self.end, self.other, self.carries = end, other, carries
        self.comes_at = 0.0  # when its last piece does, where they are delayed


class LinkProcess:
    def __init__(self, port, agents_port=None):
        ports = [str(one) for one in (port, agents_port) if one]
        self.process = subprocess.Popen([sys.executable, __file__, *ports], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def set_silent(self, silent):
        self.process.stdin.write("silent\n" if silent else "whole\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def main():
    """Serves LinkProcess until its input ends."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with FlakyLink(*map(int, sys.argv[1:]), backlog=4096) as link:
        print(link.url, flush=True)
        for line in sys.stdin:
            link.silent = line.strip() == "silent"
            print("done", flush=True)


if __name__ == "__main__":
    main()
