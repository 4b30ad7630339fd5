"""A link between agents and their controller that loses messages: a TCP proxy on loopback.

    with FlakyLink(cluster.port, drop=0.1, seed=1) as link:
        cluster.agent_url = link.url

What TCP loses it sends again, so a message is lost only with its connection: of every hundred pieces that the proxy
reads, from either side, `drop` of them are thrown away and both ends are reset. Half of the lost ones are answers to
what the controller has already done. `silent` forwards nothing and closes nothing. LinkProcess is such a link, whole or
silent, in a process of its own: for so many connections that they would hold up whoever measures. Standard library only.
"""
import random
import resource
import selectors
import socket
import struct
import subprocess
import sys
import threading

PIECE_BYTES = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST


class FlakyLink:
    def __init__(self, port, drop=0.0, seed=1, backlog=512):
        self.target, self.drop = port, drop
        self.silent = False
        self.cut = 0
        self.carried = 0
        self.random = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.selector = selectors.DefaultSelector()
        self.peers = {}
        self.wake_read, self.wake_write = socket.socketpair()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(self.wake_read, selectors.EVENT_READ)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.wake_write.send(b"x")
        self.thread.join(10)
        for end in list(self.peers):
            end.close()
        for end in (self.listener, self.wake_read, self.wake_write):
            end.close()
        self.selector.close()

    def run(self):
        while True:
            for key, _ in self.selector.select(0.1):
                if key.fileobj is self.wake_read:
                    return
                if self.silent:
                    self.thread_pause()
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj in self.peers:
                    self.carry(key.fileobj)

    def thread_pause(self):
        """Nothing is read: senders fill their buffers and hear nothing."""
        threading.Event().wait(0.05)

    def accept(self):
        near, _ = self.listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            self.reset(near)
            return
        for end, other in ((near, far), (far, near)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(5)
            self.peers[end] = other
            self.selector.register(end, selectors.EVENT_READ)

    def carry(self, end):
        other = self.peers[end]
        try:
            piece = end.recv(PIECE_BYTES)
            lost = piece and self.random.random() < self.drop
            if piece and not lost:
                other.sendall(piece)
                self.carried += 1
                return
        except OSError:
            lost = False
        self.cut += 1 if lost else 0
        for one in (end, other):
            self.selector.unregister(one)
            del self.peers[one]
            self.reset(one) if lost else one.close()

    @staticmethod
    def reset(end):
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        except OSError:
            pass
        end.close()


class LinkProcess:
    def __init__(self, port):
        self.process = subprocess.Popen([sys.executable, __file__, str(port)], stdin=subprocess.PIPE,
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
    with FlakyLink(int(sys.argv[1]), backlog=4096) as link:
        print(link.url, flush=True)
        for line in sys.stdin:
            link.silent = line.strip() == "silent"
            print("done", flush=True)


if __name__ == "__main__":
    main()
