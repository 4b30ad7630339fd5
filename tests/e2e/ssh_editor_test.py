#!/usr/bin/env python3
"""What editors do through `dove ssh-gateway`: a server that they start in the task, reached as a port of it."""
# limit_s: 120
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import unittest

from cluster import SKIP, until
from ports import free_port
from ssh_bed import MEGABYTE, SshBed

EDITOR = """
set -e
mkdir -p @FOLDER@/editor; cd @FOLDER@/editor
cat > server.py <<'END'
import socket, threading
def serve(peer):
    while piece := peer.recv(65536):
        peer.sendall(piece)
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
END
nohup python3 server.py > log 2>&1 < /dev/null &
pid=$!
until grep -qs port log; do sleep 0.1; done
echo "listeningOn==$(sed -n 's/port //p' log)==$pid=="
"""


def exactly(connection, size):
    data = b""
    while len(data) < size and (piece := connection.recv(65536)):
        data += piece
    return data


def socks(way_in, host, port):
    """A connection through SOCKS 5, as `ssh -D` offers it (RFC 1928)."""
    connection = socket.create_connection(("127.0.0.1", way_in), timeout=20)
    connection.sendall(b"\5\1\0")
    assert exactly(connection, 2) == b"\5\0"
    connection.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
    assert exactly(connection, 10).startswith(b"\5\0")
    return connection


class EditorTest(SshBed):
    def test_an_editor_starts_its_server_and_reaches_it(self):
        """As VS Code's Remote-SSH does: `ssh -T -D PORT HOST bash`, a script on its input that leaves a server running in the
        background and says where it listens, then connections through that way in, while the shell stays open."""
        way_in = free_port()
        shell = subprocess.Popen(["ssh", "-T", "-D", str(way_in), "-o", "ExitOnForwardFailure=yes", *self.options("ada"),
                                  f"{self.job}@127.0.0.1", "bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            shell.stdin.write(EDITOR.replace("@FOLDER@", self.cluster.folder))
            shell.stdin.flush()
            found = None
            while not found and (line := shell.stdout.readline()):
                found = re.fullmatch(r"listeningOn==(\d+)==(\d+)==\n", line)
            port, pid = int(found[1]), int(found[2])
            many = [socks(way_in, "127.0.0.1", port) for _ in range(4)]  # its channels, at once
            for number, one in enumerate(many):
                data = os.urandom(MEGABYTE) + bytes([number])
                threading.Thread(target=one.sendall, args=(data,)).start()
                self.assertEqual(exactly(one, len(data)), data)
            for one in many:
                one.close()
            with socks(way_in, "127.0.0.1", self.where["port"]) as other:  # none of the task's
                self.assertEqual(other.recv(1), b"")
            # Its files meanwhile, on a connection of their own; and the same shell goes on.
            self.assertEqual(self.ssh("cat", input=b"x").stdout, b"x")
            shell.stdin.write("echo still $((40+2))\n")
            shell.stdin.flush()
            self.assertEqual(shell.stdout.readline(), "still 42\n")
        finally:
            shell.kill()
            shell.communicate()
        until(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the server to end with the editor")


if __name__ == "__main__":
    if not all(shutil.which(name) for name in ("ssh", "ssh-keygen")):
        print("there is no openssh-client (tools/setup test)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
