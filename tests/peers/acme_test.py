#!/usr/bin/env python3
"""A certificate from an authority that speaks ACME and that nobody here wrote (pebble), got and renewed by Debian's lego with the
very commands of docs/operate/tls.md. Who trusts pebble's root is served; a renewal is taken without a restart, and neither a
connection, nor a followed log, nor a node's session ends. Skips where pebble or lego (`tools/setup peers`) is missing."""
# limit_s: 180
import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from cluster import DOVE, SKIP, Api, Cluster, until  # noqa: E402
from ports import free_port  # noqa: E402

GUIDE = os.path.join(ROOT, "docs/operate/tls.md")
PROGRAMS = ("pebble", "pebble-challtestsrv", "lego")
NAME = "localhost"  # for head.example.org
DAYS = 20           # less than those that lego is to leave
NOBODYS_GROUP = 65534


class Authority:
    """pebble, and the name server by which it finds the machine that asks."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        os.makedirs(folder)
        self.port, self.managing_port, self.http_port, self.dns_port, tls_port, unused = (
            free_port() for _ in range(6))
        self.own = os.path.join(folder, "own.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        self.own + ".key", "-out", self.own, "-days", "2", "-subj", "/CN=pebble", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=60)
        with open(os.path.join(folder, "pebble.json"), "w") as file:
            json.dump({"pebble": {"listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.managing_port}",
                                  "certificate": self.own, "privateKey": self.own + ".key", "httpPort": self.http_port,
                                  "tlsPort": tls_port, "certificateValidityPeriod": DAYS * 86400}}, file)
        self.log = open(os.path.join(folder, "log"), "wb")
        self.start("pebble-challtestsrv", "-dns01", f"127.0.0.1:{self.dns_port}", "-http01", "", "-https01", "", "-tlsalpn01", "",
                   "-management", f"127.0.0.1:{unused}", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "")
        self.start("pebble", "-strict", "-config", os.path.join(folder, "pebble.json"), "-dnsserver", f"127.0.0.1:{self.dns_port}")
        self.root = os.path.join(folder, "root.pem")
        with open(self.root, "wb") as file:
            file.write(until(self.fetch_root, 20, "pebble"))

    def start(self, *argv):
        self.started.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                             env={**os.environ, "PEBBLE_VA_NOSLEEP": "1"}))

    def fetch_root(self):
        try:
            return urllib.request.urlopen(f"https://127.0.0.1:{self.managing_port}/roots/0", timeout=10,
                                          context=ssl.create_default_context(cafile=self.own)).read()
        except OSError:
            return None

    def stop(self):
        for process in self.started:
            process.kill()
            process.wait(10)
        self.log.close()


class Guide:
    """The section of the guide as commands of this machine: its names, ports and folders are replaced, and nothing else."""

    def __init__(self, folder, authority):
        self.folder, self.authority = folder, authority
        with open(GUIDE) as file:
            section = re.search(r"^## Certificates by ACME\n(.*?)^## ", file.read(), re.M | re.S)[1]
        self.blocks = [re.sub(r"^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n)+", section, re.M)]
        assert len(self.blocks) == 3, self.blocks
        for old, new in (("-g dove", f"-g {NOBODYS_GROUP}"), ("/usr/share/doc/dovetail-server/examples", ROOT + "/deploy"),
                         ("https://acme.example.org/directory", f"https://127.0.0.1:{authority.port}/dir"), ("head.example.org", NAME),
                         ("/var/lib/lego", folder + "/lego"), ("/etc/dove", folder + "/etc"),
                         ("--http.port :80", f"--http.port 127.0.0.1:{authority.http_port}")):
            assert any(old in block for block in self.blocks), f"{GUIDE} says no more {old}"
            self.blocks = [block.replace(old, new) for block in self.blocks]

    def settings(self):
        """The options of the server, from the lines for its YAML file."""
        pairs = [line.split(": ") for line in self.blocks[1].splitlines()]
        return [word for name, value in pairs for word in ("--" + name, value)]

    def run(self, script):
        done = subprocess.run(["sh", "-euc", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "LEGO_CA_CERTIFICATES": self.authority.own, "DOVE_TLS_FOLDER": self.folder + "/etc/tls"})
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def obtain(self):
        os.makedirs(self.folder + "/etc")
        self.run(self.blocks[0])

    def renew(self):
        # A job of the night waits some minutes, so that not all of the world renew at once.
        self.run(self.blocks[2].rstrip() + " --no-random-sleep\n")


class AcmeCluster(Cluster):
    """Its server is reached by the name that the certificate is for."""

    def __init__(self, root, **more):
        self.root = root
        super().__init__(tls=True, **more)

    def ca_file(self):
        return self.root

    def start_server(self):
        super().start_server()
        self.url = f"https://{NAME}:{self.port}"
        with open(os.path.join(self.data, "token")) as file:
            token = file.read().strip()
        self.api = Api(self.url, token, ca_file=self.root)
        self.environment.update(DOVE_URL=self.url, DOVE_TOKEN=token, DOVE_CA_FILE=self.root)

    def count(self, event):
        with open(os.path.join(self.folder, "processes.log")) as file:
            return file.read().count(f'"event":"{event}"')


def serial_of(connection):
    return connection.getpeercert()["serialNumber"]


def shown_serial(cluster):
    """The serial number of the certificate that a new connection is shown; its chain and name are verified."""
    context = ssl.create_default_context(cafile=cluster.root)
    with socket.create_connection(("127.0.0.1", cluster.port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname=NAME) as stream:
            return serial_of(stream)


def is_installed_as_the_guide_says(folder):
    for name, mode in (("key.pem", 0o640), ("certificate.pem", 0o644)):
        found = os.stat(f"{folder}/etc/tls/{name}")
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, os.geteuid(), NOBODYS_GROUP), (name, found)
    assert sorted(os.listdir(folder + "/etc/tls")) == ["certificate.pem", "key.pem"]


def only_who_trusts_the_root_is_served(cluster):
    assert "node1" in cluster.run("nodes").stdout
    done = subprocess.run([DOVE, "nodes"], capture_output=True, text=True, timeout=30,
                          env={**cluster.environment, "DOVE_CA_FILE": cluster.data + "/ca.pem"})
    assert done.returncode != 0 and "DOVE_CA_FILE" in done.stderr, done
    wrong = subprocess.run([DOVE, "nodes"], capture_output=True, text=True, timeout=30,
                           env={**cluster.environment, "DOVE_URL": f"https://127.0.0.1:{cluster.port}"})
    assert wrong.returncode != 0 and "use a name that the certificate has" in wrong.stderr, wrong


def a_renewal_ends_nothing(cluster, guide):
    go = os.path.join(cluster.folder, "go")
    job = cluster.submit({"name": "long", "command": ["sh", "-c", f"echo before; while [ ! -e {shlex.quote(go)} ]; do sleep 0.1; done; echo after"]})
    cluster.wait_state(job, "running")
    kept = http.client.HTTPSConnection(NAME, cluster.port, timeout=30, context=ssl.create_default_context(cafile=cluster.root))

    def ask():
        kept.request("GET", "/healthz")
        assert kept.getresponse().read() is not None
        return kept.sock
    socket_of_before = ask()
    first, sessions = serial_of(kept.sock), cluster.count("connected")
    assert first == shown_serial(cluster)
    following = subprocess.Popen([DOVE, "logs", "--follow", str(job)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                 env=cluster.environment)
    try:
        assert following.stdout.readline() == "before\n"
        pid = cluster.server.pid
        guide.renew()
        is_installed_as_the_guide_says(guide.folder)
        until(lambda: shown_serial(cluster) != first, 20, "the server to show the renewed certificate")
        assert cluster.count("certificate_taken") == 1 and cluster.server.pid == pid and cluster.server.poll() is None
        assert ask() is socket_of_before and serial_of(kept.sock) == first, "the open connection goes on"
        assert cluster.count("connected") == sessions, "no node's session ended"
        open(go, "w").close()
        assert following.stdout.read() == "after\n" and following.wait(30) == 0
    finally:
        following.kill()
        following.wait(10)
        kept.close()
    assert cluster.wait(job)["state"] == "completed", cluster.job(job)
    only_who_trusts_the_root_is_served(cluster)


def a_pair_that_does_not_fit_is_not_taken(cluster, guide):
    """As between the hook's two renames, for as long as somebody likes."""
    before = shown_serial(cluster)
    key = f"{guide.folder}/etc/tls/key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key], check=True,
                   capture_output=True, timeout=60)
    until(lambda: cluster.count("certificate_unreadable"), 20, "the server to find it")
    assert shown_serial(cluster) == before


def main():
    lacking = [name for name in PROGRAMS if not shutil.which(name)]
    if lacking or os.geteuid() != 0:
        print(f"skipped: there is no {lacking[0]} (tools/setup peers)" if lacking else "skipped: the guide's commands are root's")
        return SKIP
    cluster = AcmeCluster(None, nodes=1)
    authority = Authority(os.path.join(cluster.folder, "authority"))
    try:
        cluster.root = authority.root
        guide = Guide(cluster.folder, authority)
        guide.obtain()
        is_installed_as_the_guide_says(guide.folder)
        cluster.server_options += guide.settings()
        cluster.agent_options += ["--ca-file", authority.root]
        with cluster:
            only_who_trusts_the_root_is_served(cluster)
            a_renewal_ends_nothing(cluster, guide)
            a_pair_that_does_not_fit_is_not_taken(cluster, guide)
    finally:
        authority.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
