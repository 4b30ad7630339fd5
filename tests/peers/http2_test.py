#!/usr/bin/env python3
"""curl speaks HTTP/2 with the port of agents, by an agent's certificate, and HTTP/1.1 where it likes; people's port offers no HTTP/2."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from cluster import SKIP, Cluster  # noqa: E402


class Node:
    """Calls in the name of node1, by curl."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.port = cluster.agents_port()
        self.folder = os.path.join(cluster.folder, "nodes/node1")
        with open(self.folder + "/agent_token") as file:
            self.token = file.read().strip()

    def curl(self, *words, port=None, tail="report"):
        """(HTTP's version, status, what it prints beside them)"""
        done = subprocess.run(
            ["curl", "-sS", "--max-time", "20", "--cacert", self.cluster.ca_file(), "--cert", self.folder + "/agent_certificate.pem",
             "--key", self.folder + "/agent_key.pem", "-H", "Authorization: Bearer " + self.token, "-H", "Content-Type: application/json",
             "-w", "\n%{http_version} %{http_code}", *words, f"https://127.0.0.1:{port or self.port}/v1/agents/node1/{tail}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        text, last = done.stdout.rsplit("\n", 1)
        version, status = last.split()
        return version, int(status), text


def check(node):
    # No report: the answer says what is missing, and the session of the node goes on.
    said = node.curl("--http2", "-d", "{}")
    assert said[0] == "2" and 400 <= said[1] < 500 and '"code"' in said[2], said
    plain = node.curl("--http1.1", "-d", "{}")
    assert plain[0] == "1.1" and plain[1:] == said[1:], (plain, said)
    # Many requests of one connection.
    pages = ",".join(str(page) for page in range(40))
    many = node.curl("--http2", "--parallel", "--parallel-max", "40", tail="none/{" + pages + "}")
    assert many[0] == "2" and many[1] == 404 and many[2].count('"code"') == 40, many
    # Limits, before anything is kept: of a head, and of a body that goes on.
    long = node.curl("--http2", "-H", "x-long: " + "x" * 30_000, "-d", "{}")
    assert long[:2] == ("2", 431) and "headers_too_large" in long[2], long
    big = os.path.join(node.cluster.folder, "big")
    with open(big, "wb") as file:
        file.truncate(200 << 20)
    large = node.curl("--http2", "-H", "Expect:", "--data-binary", "@" + big)
    assert large[:2] == ("2", 413) and "body_too_large" in large[2], large
    # The port of people answers, and does not agree on HTTP/2.
    people = node.curl("--http2", "-d", "{}", port=node.cluster.port)
    assert people[:2] == ("1.1", 404), people


def main():
    curl = shutil.which("curl")
    if not curl or "HTTP2" not in subprocess.run([curl, "--version"], capture_output=True, text=True, timeout=20).stdout:
        print("skipped: there is no curl with HTTP/2 (tools/setup peers)")
        return SKIP
    with Cluster(nodes=1, tls=True) as cluster:
        check(Node(cluster))
        # The node itself, all the while.
        assert cluster.wait(cluster.submit({"name": "a", "command": ["true"]}))["state"] == "completed"
        assert [node["contact"] for node in cluster.nodes()] == ["connected"], cluster.nodes()
    return 0


if __name__ == "__main__":
    sys.exit(main())
