#!/usr/bin/env python3
# waits
"""TLS as sites run it: the first start makes an authority, nodes join by its digest, agents have a port of their
own that strangers do not get past, certificates are renewed, and each mistake is named with its remedy."""
import json
import os
import socket
import ssl
import subprocess
import sys
import time

from certificates import FUTURE, PAST, Authority, Server, openssl
from cluster import DOVE, ROOT, Api, Cluster, until
from ports import free_port

sys.path.insert(0, os.path.join(ROOT, "python"))

import dove  # noqa: E402

VALID_S = 6


def log_of(cluster):
    with open(os.path.join(cluster.folder, "processes.log")) as file:
        return file.read()


def works(cluster):
    """Jobs, steps, logs and exec go through, and what a job calls finds the server."""
    job = cluster.submit({"name": "a", "command": ["sh", "-c", "echo rank $RANK; squeue -h | wc -l"],
                          "groups": [{"name": "g", "tasks": 2}]})
    assert cluster.wait(job)["state"] == "completed", cluster.job(job)
    assert cluster.logs(job).splitlines()[0] == "rank 0", cluster.logs(job)
    script = os.path.join(cluster.folder, "step.sh")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\n#SBATCH -n 2 -o {cluster.folder}/step.out\nsrun -n 2 echo stepped\n")
    batch = cluster.run("submit", script).stdout.split()[-1]
    assert cluster.wait(batch)["state"] == "completed", cluster.run("logs", batch, check=False)
    assert cluster.run("logs", batch).stdout.count("stepped") == 2
    sleeper = cluster.submit({"name": "b", "command": ["sleep", "60"]})
    cluster.wait_state(sleeper, "running")
    said = cluster.run("exec", str(sleeper), "--", "echo", "in the task")
    assert "in the task" in said.stdout, said
    cluster.run("cancel", str(sleeper))


def strangers_get_nothing(cluster):
    port = cluster.agents_port()
    quiet = ssl._create_unverified_context()
    # The handshake of TLS 1.3 ends for the client before the server has looked at its certificate.
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        try:
            with quiet.wrap_socket(plain) as stream:
                stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert stream.recv(100) == b"", "a stranger was answered"
        except (ssl.SSLError, ConnectionError):
            pass
    # A node says itself where it is, so its certificate names no place: it could pass for the server there. The one name
    # is the same for all nodes.
    node1 = os.path.join(cluster.folder, "nodes/node1")
    names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", node1 + "/agent_certificate.pem"],
                           capture_output=True, text=True, timeout=30, check=True).stdout
    said = [name.strip() for name in names.splitlines()[-1].split(",")]
    assert said[0].startswith("URI:dove://") and said[1:] == ["DNS:node.dove.internal"], names
    # With node1's own key and certificate: node1 may, in the name of node2 nobody may.
    context = ssl.create_default_context(cafile=cluster.ca_file())
    context.load_cert_chain(node1 + "/agent_certificate.pem", node1 + "/agent_key.pem")
    with open(os.path.join(cluster.folder, "nodes/node2/agent_token")) as file:
        stolen = Api(f"https://127.0.0.1:{port}", file.read().strip(), ca_file=cluster.ca_file())
    stolen.tls = context
    status, _, body = stolen.raw("POST", "/v1/agents/node2/report", {})
    assert status == 401 and b"wrong_certificate" in body, (status, body)
    # Nor does a stolen token get a certificate for a thief's key.
    thief = os.path.join(cluster.folder, "thief")
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
                    "-keyout", thief + ".key", "-out", thief + ".csr"], check=True, capture_output=True, timeout=30)
    own = subprocess.run(["openssl", "req", "-new", "-subj", "/CN=x", "-key", cluster.folder + "/nodes/node2/agent_key.pem"],
                         check=True, capture_output=True, timeout=30, text=True).stdout
    at_people = Api(cluster.url, stolen.headers["Authorization"][7:], ca_file=cluster.ca_file())
    status, _, body = at_people.raw("POST", "/v1/agents/node2/certificate", {"request": shown(thief + ".csr")})
    assert status == 403 and b"another_key" in body and b"psk" not in body, (status, body)
    assert at_people.raw("POST", "/v1/agents/node2/certificate", {"request": own})[0] == 200
    # And agents' calls are not answered at people's port.
    status, _, body = Api(cluster.url, stolen.headers["Authorization"][7:], ca_file=cluster.ca_file()).raw(
        "POST", "/v1/agents/node2/report", {})
    assert status == 404, (status, body)


def command_fails(cluster, words, **environment):
    done = subprocess.run([DOVE, "ps"], capture_output=True, text=True, timeout=30,
                          env={**cluster.environment, "DOVE_TOKEN": "secret", **environment})
    assert done.returncode != 0 and all(word in done.stderr for word in words), (words, done)


def agent_fails(cluster, words, url, token, *options):
    """A node that would join says so in its log."""
    path = os.path.join(cluster.folder, "token")
    with open(path, "w") as file:
        file.write(token)
    with open(path + ".said", "w") as said:  # not a pipe: reading from one would wait for as long as the agent says nothing
        agent = subprocess.Popen([DOVE, "agent", "--name", "late", "--url", url, "--data", path + ".late", "--gpus", "0",
                                  "--run-as-self", "--join-token-file", path, *options], stdin=subprocess.DEVNULL,
                                 stderr=said, env=cluster.environment, start_new_session=True)

    def is_said():
        return any(all(word in line for word in words) for line in shown(path + ".said").splitlines())
    try:
        until(lambda: is_said() or agent.poll() is not None, 15, f"{words} from the agent")
    finally:
        agent.kill()
        agent.wait(10)
    assert is_said(), (words, shown(path + ".said"))


def mistakes_are_named(cluster):
    plain = cluster.url.replace("https", "http")
    command_fails(cluster, ["https://"], DOVE_URL=plain)
    try:
        raise AssertionError(dove.Client(url=plain, token="secret", patience_s=5).api.get("/v1/jobs"))
    except dove.ApiError as error:
        assert "https://" in str(error), error
    command_fails(cluster, ["DOVE_CA_FILE", "dove ca show"], DOVE_URL=cluster.url)
    command_fails(cluster, ["DOVE_CA_FILE"], DOVE_URL=cluster.url, DOVE_CA_FILE="/nowhere")
    good = cluster.api.call("POST", "/v1/join-tokens", {"node": "late"})["token"]
    assert "." in good
    agent_fails(cluster, ["https://"], plain, good)
    agent_fails(cluster, ["https://"], plain, good.split(".")[0])


def wrong_certificates_are_named(cluster):
    """By commands, by an agent that is told whom to believe by a file, and by one that knows the cluster's authority; nobody sends
    a token to whoever shows one."""
    own = Authority(cluster.folder + "/own", cluster.data + "/ca.pem", cluster.data + "/ca.key")
    other = Authority(cluster.folder + "/other")
    good = cluster.api.call("POST", "/v1/join-tokens", {"node": "late"})["token"]
    trusted = ["--ca-file", own.certificate]
    for pair, of_command, of_agent, by_digest in (
            (own.pair("DNS:head,IP:127.0.0.2"), ["--tls-name"], ["head", "127.0.0.2", "--tls-name 127.0.0.1"], True),
            (own.pair("IP:127.0.0.1", PAST), ["this machine's clock"], ["certificate ended at", "clock", "renew"], True),
            # An agent that knows the authority takes this one: its own clock may be the wrong one, and may not cut it off.
            (own.pair("IP:127.0.0.1", FUTURE), ["clocks of both"], ["certificate begins at", "set the clock that is wrong"], False),
            (other.pair("IP:127.0.0.1"), ["DOVE_CA_FILE", "dove ca show"], ["--ca-file", "DOVE_CA_FILE", "dove ca show"], True)):
        with open(pair[0], "a") as file:  # as the cluster's own: who knows its digest alone finds the authority behind it
            file.write(shown(own.certificate))
        server = Server(pair)
        try:
            url = f"https://127.0.0.1:{server.port}"
            command_fails(cluster, of_command, DOVE_URL=url, DOVE_CA_FILE=own.certificate)
            agent_fails(cluster, of_agent, url, good.split(".")[0], *trusted)
            if by_digest:
                agent_fails(cluster, of_agent, url, good)
            assert server.said == b"", server.said
        finally:
            server.end()


def shown(path):
    with open(path) as file:
        return file.read()


def renews(cluster):
    """A certificate of seconds is renewed while a job runs, and its session goes on."""
    path = os.path.join(cluster.folder, "nodes/node1/agent_certificate.pem")
    first = shown(path)
    job = cluster.submit({"name": "long", "command": ["sleep", "300"]})
    cluster.wait_state(job, "running")
    until(lambda: shown(path) != first, 3 * VALID_S, "a renewal")
    assert log_of(cluster).count('"event":"connected"') == len(cluster.names)
    # A node that was off until its certificate had ended comes back by itself.
    cluster.agents["node1"].kill()
    cluster.agents.pop("node1").wait(10)
    time.sleep(VALID_S + 1)
    cluster.start_agent("node1")
    cluster.wait_connected()
    cluster.run("cancel", str(job))
    # And with the controller's next life, whose port for agents is another one.
    cluster.server.kill()
    cluster.server.wait(10)
    cluster.start_server()
    cluster.wait_connected()


def authority_is_followed(cluster):
    """Another authority, without a restart: nodes take it over with their next certificate, sessions and jobs go on,
    and the former one is believed no more once it is finished."""
    job = cluster.submit({"name": "long", "command": ["sleep", "300"]})
    cluster.wait_state(job, "running")
    sessions = log_of(cluster).count('"event":"connected"')

    def rotate(*options, check=True):
        return cluster.run("ca", "rotate", "--data", cluster.data, *options, check=check)
    former = shown(cluster.data + "/ca.pem")
    assert "ca.next.pem" in rotate().stdout
    assert cluster.run("ca", "show", "--data", cluster.data).stdout.count("BEGIN CERTIFICATE") == 2
    early = rotate("--finish", check=False)
    assert early.returncode != 0 or "ca.pem is the new" in early.stdout, early
    if early.returncode != 0:
        assert "have not followed" in early.stderr, early
        until(lambda: "all nodes have followed" in rotate().stdout, 10 * VALID_S, "all nodes to follow")
        rotate("--finish")
    now = shown(cluster.data + "/ca.pem")
    assert now != former

    def shows_it():
        try:
            Api(cluster.url, "x", ca_file=cluster.ca_file()).raw("GET", "/healthz")
            return True
        except ssl.SSLError:
            return False
    until(shows_it, 30, "the server to show a certificate of the new authority")
    cluster.api = Api(cluster.url, shown(cluster.data + "/token").strip(), ca_file=cluster.ca_file())
    try:
        old = os.path.join(cluster.folder, "former.pem")
        with open(old, "w") as file:
            file.write(former)
        Api(cluster.url, "x", ca_file=old).raw("GET", "/healthz")
        raise AssertionError("the former authority is still shown")
    except ssl.SSLError:
        pass
    certificate = cluster.folder + "/nodes/node1/agent_certificate.pem"
    first = shown(certificate)
    until(lambda: shown(certificate) != first, 3 * VALID_S, "a renewal by the new authority")
    assert log_of(cluster).count('"event":"connected"') == sessions, "no session ended"
    assert cluster.job(job)["state"] == "running"
    # Whoever starts anew knows the new one.
    cluster.agents["node1"].kill()
    cluster.agents.pop("node1").wait(10)
    cluster.start_agent("node1")
    cluster.wait_connected()
    cluster.run("cancel", str(job))


def metrics_are_a_nodes(cluster, port):
    """A client that asks for the name of nodes reads them. One that asks for a host, as clients of the server do, does not."""
    def read(name):
        context = ssl.create_default_context(cafile=cluster.ca_file())
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, \
                context.wrap_socket(plain, server_hostname=name) as stream:
            stream.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: stream.recv(65536), b""))

    def listens():
        try:
            return read("node.dove.internal")
        except ConnectionError:
            return None
    assert b"dove_agent_connected" in until(listens, 15, "the node's metrics")
    for name in ("127.0.0.1", "localhost", socket.gethostname()):
        try:
            raise AssertionError(f"as {name}: {read(name)}")
        except ssl.SSLCertVerificationError:
            pass
    command_fails(cluster, ["--tls-name"], DOVE_URL=f"https://127.0.0.1:{port}", DOVE_CA_FILE=cluster.ca_file())


class SiteCluster(Cluster):
    """One that shows a certificate which the cluster's own authority knows nothing of."""
    site = None

    def ca_file(self):
        return self.site


class NobodyComes(SiteCluster):
    """One whose certificate no client takes."""

    def wait_connected(self, limit_s=20):
        pass


def a_broken_pair_is_logged_once(other, key):
    """However often it is looked at: another authority is taken at a later look each time."""
    with open(key, "w") as file:
        file.write("no key\n")
    until(lambda: '"event":"certificate_unreadable"' in log_of(other), 20, "the server to find it")
    for looks, options in enumerate([[], ["--finish", "--force"]], 1):
        other.run("ca", "rotate", "--data", other.data, *options)
        until(lambda: log_of(other).count('"event":"authorities_taken"') == looks, 20, "the next look")
    assert log_of(other).count('"event":"certificate_unreadable"') == 1


def a_site_certificate_is_shown(cluster):
    folder = os.path.join(cluster.folder, "site")
    cluster.run("ca", "init", "--data", folder)
    done = cluster.run("ca", "show", "--data", folder)
    assert "BEGIN CERTIFICATE" in done.stdout and "digest: " in done.stderr, done
    again = cluster.run("ca", "init", "--data", folder, check=False)
    assert again.returncode != 0 and "there already" in again.stderr, again
    site = [os.path.join(folder, name) for name in ("site.pem", "site.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=site", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", site[1], "-out", site[0]],
                   check=True, capture_output=True)
    SiteCluster.site = site[0]
    options = ["--tls", "--agents-port", "0", "--tls-certificate", site[0], "--tls-key", site[1]]
    with SiteCluster(server_options=options, agent_options=["--ca-file", site[0]], tls=False) as other:
        other.environment["DOVE_CA_FILE"] = site[0]
        works(other)
        a_broken_pair_is_logged_once(other, site[1])


def start_of_site(cluster, certificate, key):
    """What `dove server` with that pair says where it does not start; "" where it does."""
    data = os.path.join(cluster.folder, "site-start")
    done = cluster.run("server", "--data", data, "--port", "0", "--tls", "--agents-port", "0", "--tls-certificate", certificate,
                       "--tls-key", key, check=False)
    assert done.returncode != 0, done
    return done.stderr


def what_is_wrong_with_a_site_pair_is_named(cluster):
    """RSA keys, too; what has ended is not taken in place of what is good."""
    folder = os.path.join(cluster.folder, "wrong-site")
    authority = Authority(folder)
    rsa = [os.path.join(folder, name) for name in ("rsa.pem", "rsa.key", "other.pem", "other.key")]
    for certificate, key in (rsa[:2], rsa[2:]):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=site", "-addext",
                "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
    assert "the private key is not that of the first certificate" in start_of_site(cluster, rsa[0], rsa[3])
    # A chain whose second certificate did not sign the first one.
    chain = os.path.join(folder, "chain.pem")
    leaf, leaf_key = authority.pair("IP:127.0.0.1")
    with open(chain, "w") as file:
        file.write(shown(leaf) + shown(rsa[0]))
    assert "no other certificate of the file has signed the first one" in start_of_site(cluster, chain, leaf_key)
    site = [os.path.join(folder, name) for name in ("site.pem", "site.key")]

    def put(pair, behind=""):
        for name, text in zip(site, (shown(pair[0]) + behind, shown(pair[1]))):
            with open(name, "w") as file:
                file.write(text)

    def says(other, event, count=1):
        until(lambda: log_of(other).count(f'"event":"{event}"') == count, 20, f"the server to say {event}")
    issuer = shown(authority.certificate)
    put(authority.pair("IP:127.0.0.1", PAST), issuer)
    options = ["--tls", "--agents-port", "0", "--tls-certificate", site[0], "--tls-key", site[1]]
    SiteCluster.site = authority.certificate
    with NobodyComes(nodes=0, server_options=options, tls=False) as other:
        says(other, "certificate_expired")  # and it serves: agents need it not
        put(rsa[:2])
        says(other, "certificate_taken")
        put(authority.pair("IP:127.0.0.1", FUTURE), issuer)
        says(other, "certificate_not_yet_valid")
        assert log_of(other).count('"event":"certificate_taken"') == 1
        put(authority.pair("IP:127.0.0.1"), issuer)
        says(other, "certificate_taken", 2)


def main():
    options = ["--node-certificate-s", str(VALID_S)]
    with Cluster(nodes=2, tls=True, server_options=options) as cluster:
        assert cluster.url.startswith("https://")
        works(cluster)
        strangers_get_nothing(cluster)
        mistakes_are_named(cluster)
        wrong_certificates_are_named(cluster)
        renews(cluster)
        authority_is_followed(cluster)
        works(cluster)
        a_site_certificate_is_shown(cluster)
        what_is_wrong_with_a_site_pair_is_named(cluster)
    # Beyond loopback TLS needs no option.
    metrics = free_port()
    with Cluster(nodes=1, tls=False, server_options=["--host", "0.0.0.0", "--agents-port", "0"],
                 agent_options=["--metrics", f"0.0.0.0:{metrics}"]) as cluster:
        assert cluster.url.startswith("https://"), cluster.url
        metrics_are_a_nodes(cluster, metrics)
    with Cluster(nodes=1, tls=False, server_options=["--host", "0.0.0.0", "--insecure"]) as cluster:
        assert cluster.url.startswith("http://"), cluster.url
    return 0


if __name__ == "__main__":
    sys.exit(main())
