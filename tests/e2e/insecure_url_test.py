#!/usr/bin/env python3
"""No token goes over the network in the clear, unless somebody says that the network is trusted: agents, commands, and all
other programs that speak to a server."""
import os
import socket
import subprocess
import sys
import tempfile

from cluster import DOVE, Cluster

ELSEWHERE = "http://192.0.2.1:7717"  # of RFC 5737, for documentation: nobody is there


def refused(words, environment):
    """Ends at once, and says what to do."""
    done = subprocess.run([DOVE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, env=environment)
    assert done.returncode != 0, (words, done)
    for word in ("in the clear", "https://", "--insecure", "DOVE_INSECURE=1"):
        assert word in done.stderr, (words, done)


def every_program_refuses(folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DOVE_")}
    environment.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_STATE_HOME=folder)
    secret = os.path.join(folder, "secret")
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("a-secret-of-some-length\n")
    url = ["--url", ELSEWHERE]
    refused(["agent", "--name", "n1", "--data", folder + "/agent", "--gpus", "0", "--run-as-self", "--join-token-file", secret,
             *url], environment)
    refused(["slurm", "--key-file", secret, *url], environment)
    refused(["ssh-gateway", "--key-file", secret, "--data", folder + "/ssh", *url], environment)
    refused(["proxy", *url], environment)
    refused(["server", "--data", folder + "/copy", "--follow", ELSEWHERE, "--follow-token", secret], environment)
    refused(["ps", *url], {**environment, "DOVE_TOKEN_FILE": secret})
    refused(["ps"], {**environment, "DOVE_URL": "https://127.0.0.1:1," + ELSEWHERE, "DOVE_TOKEN_FILE": secret})
    refused(["squeue"], {**environment, "DOVE_URL": ELSEWHERE, "DOVE_TOKEN_FILE": secret})
    refused(["login", ELSEWHERE], environment)
    # A step's client in a job, too.
    refused(["srun", "true"], {**environment, "DOVE_URL": ELSEWHERE, "DOVE_JOB_ID": "1", "DOVE_JOB_TOKEN": "1.1.x"})


def who_is_told_may(cluster):
    """By the machine's own name, which is not known to stay on it."""
    name = socket.gethostname()
    cluster.agent_url = f"http://{name}:{cluster.port}"
    with open(os.path.join(cluster.data, "token")) as file:
        told = {"DOVE_URL": cluster.agent_url, "DOVE_TOKEN": file.read().strip(), "DOVE_DATA": "", "no_proxy": "*"}
    failed = cluster.run("ps", check=False, **told)
    assert failed.returncode != 0 and "--insecure" in failed.stderr, failed
    cluster.run("ps", "--insecure", **told)
    cluster.run("ps", DOVE_INSECURE="1", **told)
    cluster.agent_options = ["--insecure"]
    cluster.names = ["node1"]
    cluster.start_agent("node1")
    cluster.wait_connected()
    # Commands of its tasks were told by the agent.
    job = cluster.submit({"name": "a", "command": ["sh", "-c", "no_proxy='*' squeue -h | wc -l; echo $DOVE_INSECURE"]})
    assert cluster.wait(job)["state"] == "completed", cluster.job(job)
    assert cluster.logs(job).split() == ["1", "1"], cluster.logs(job)


def main():
    with tempfile.TemporaryDirectory(prefix="dove-insecure.") as folder:
        every_program_refuses(folder)
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        print("this machine's own name leads nowhere, so nobody is told that the network is trusted")
        return 0
    with Cluster(nodes=0, tls=False, server_options=["--host", "0.0.0.0", "--insecure"]) as cluster:
        who_is_told_may(cluster)
    return 0


if __name__ == "__main__":
    sys.exit(main())
