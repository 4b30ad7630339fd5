"""Agents that run nothing (`dove agent --runner null`), many to a process, and jobs that last for them."""
import os
import subprocess

from cluster import until

LAST_MS = "100000000"


def counts(cluster):
    return cluster.api.call("GET", "/v1/cluster")


def start_fleet(cluster, agents, name="null", folder=None, options=()):
    """A process with that many agents of 8 GPUs and 64 cores; they connect meanwhile."""
    tokens = os.path.join(cluster.folder, "join_tokens_" + name)
    with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        for _ in range(agents):
            file.write(cluster.api.call("POST", "/v1/join-tokens", {})["token"] + "\n")
    cluster.agents["fleet-" + name] = cluster.spawn(
        "agent", "--runner", "null", "--count", str(agents), "--name", name, "--data",
        folder or os.path.join(cluster.folder, "fleet-" + name), "--url", cluster.agent_url or cluster.url, "--gpus", "8",
        "--cores", "64", "--memory", "1Ti", "--run-as-self", "--join-token-file", tokens, *options,
        stdout=subprocess.DEVNULL)


def wait_connected(cluster, agents, limit_s=300):
    until(lambda: counts(cluster)["nodes"]["connected"] == agents, limit_s, "the fleet to connect")


def start_jobs(cluster, jobs):
    """That many jobs of a core, which run until they are cancelled; the id of their array."""
    array = cluster.submit({"name": "long", "command": ["null"], "cores": 1, "array": f"0-{jobs - 1}",
                            "environment": {"DOVE_NULL_RUN_MS": LAST_MS}})
    until(lambda: counts(cluster)["jobs"]["running"] >= jobs, 60 + jobs / 50, f"{jobs} running jobs")
    return array


def still_running(cluster):
    """Jobs of start_jobs() that are in their first attempt yet."""
    found, after = 0, ""
    while after is not None:
        page = cluster.api.call("GET", "/v1/jobs?name=long&state=running&limit=1000" + (f"&after={after}" if after else ""))
        found += sum(job["attempt"] == 1 for job in page["jobs"])
        after = page.get("next")
    return found
