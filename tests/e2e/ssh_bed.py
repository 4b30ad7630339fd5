"""A gateway, a running job, and whom the gateway lets in: for tests with clients of SSH."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from cluster import Api, Cluster, make_bare_image, until

MEGABYTE = 1 << 20


class SshBed(unittest.TestCase):
    """A job of ada's that runs, `cls.job`, and a gateway that lets her in."""
    AGENT_OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.images = tempfile.mkdtemp(prefix="dove-ssh-images.")
        make_bare_image(cls.images + "/bare")
        cls.cluster = Cluster(agent_options=["--images", cls.images, "--volume-roots", "/usr", *cls.AGENT_OPTIONS]).__enter__()
        try:
            cls.begin()
        except BaseException:
            cls.cluster.__exit__(*sys.exc_info())
            raise

    @classmethod
    def begin(cls):
        cluster = cls.cluster
        cls.tokens = {}
        for name in ("ada", "bob"):
            cls.tokens[name] = cluster.api.call("POST", f"/v1/users/{name}/token?create=1")["token"]
        cls.folder = os.path.join(cluster.folder, "keys")
        os.makedirs(cls.folder)
        for name in ("ada", "bob", "eve"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{cls.folder}/{name}"], check=True)
        cls.start_gateway()
        for name in ("ada", "bob"):
            cls.dove(name, "ssh-key", "add", f"{cls.folder}/{name}.pub")
        cls.job = cls.submit("ada", ["/bin/sleep", "600"])
        cluster.wait_state(cls.job, "running")

    @classmethod
    def tearDownClass(cls):
        cls.gateway.terminate()
        cls.gateway.wait(10)
        cls.cluster.__exit__(None, None, None)
        shutil.rmtree(cls.images, ignore_errors=True)

    @classmethod
    def start_gateway(cls, port=0):
        cluster = cls.cluster
        ca = ["--ca-file", cluster.ca_file()] if cluster.ca_file() else []
        cls.gateway = cluster.spawn(
            "ssh-gateway", "--url", cluster.url, "--key-file", cluster.data + "/ssh_gateway_token", "--data",
            cluster.folder + "/ssh", "--port", str(port), *ca, stdout=subprocess.DEVNULL)
        cls.where = until(cls.announced, 20, "the gateway to announce itself")
        cls.known = f"{cls.folder}/known_hosts"
        with open(cls.known, "w") as file:
            file.writelines(f"[127.0.0.1]:{cls.where['port']} {key}\n" for key in cls.where["host_keys"])

    @classmethod
    def listens(cls):
        try:
            socket.create_connection(("127.0.0.1", cls.where["port"]), timeout=5).close()
        except ConnectionRefusedError:
            return False
        return True

    @classmethod
    def announced(cls):
        status, _, _ = cls.cluster.api.raw("GET", "/v1/ssh-gateway")
        return cls.cluster.api.call("GET", "/v1/ssh-gateway") if status == 200 else None

    @classmethod
    def dove(cls, who, *words, **more):
        ca = {"DOVE_CA_FILE": cls.cluster.ca_file()} if cls.cluster.ca_file() else {}
        return cls.cluster.run(*words, DOVE_URL=cls.cluster.url, DOVE_TOKEN=cls.tokens[who], **ca, **more)

    @classmethod
    def submit(cls, who, command, **more):
        api = Api(cls.cluster.url, cls.tokens[who], ca_file=cls.cluster.ca_file())
        try:
            return api.call("POST", "/v1/jobs", {"name": "s", "command": command, **more})["id"]
        finally:
            api.close()

    def options(self, who, port_flag="-p"):
        return ["-F", "none", port_flag, str(self.where["port"]), "-i", f"{self.folder}/{who}", "-o", "IdentitiesOnly=yes",
                "-o", f"UserKnownHostsFile={self.known}", "-o", "GlobalKnownHostsFile=/dev/null", "-o",
                "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"]

    def ssh(self, *words, who="ada", user=None, **more):
        more.setdefault("timeout", 60)
        return subprocess.run(["ssh", *self.options(who), f"{user or self.job}@127.0.0.1", *words], capture_output=True,
                              **more)
