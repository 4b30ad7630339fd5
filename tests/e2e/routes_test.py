#!/usr/bin/env python3
"""A route sends exactly the jobs that it names to an executor, whether they come by `dove submit` or by `sbatch`, and none
once its share is 0. A fake adapter speaks for a Slurm that is not there."""
import itertools
import os
import pwd

from cluster import Cluster, until
from executors_test import FakeAdapter

OBJECTS = """\
kind: Executor
name: slurm
service_account: slurm-1
nodes: [node2]
runs_jobs: true
---
{kind: Project, name: vision}
---
{kind: Project, name: language}
---
{kind: Binding, name: vision, role: member, project: vision, users: [ada, eve]}
---
{kind: Binding, name: language, role: member, project: language, users: [ada, eve]}
---
{kind: Queue, name: night}
---
{kind: Pool, name: a100, nodes: [node1, node2]}
"""
ROUTE = "users: [ada], projects: [vision], queues: [night], pools: [a100]"
NAMED = ("ada", "vision", "night", "a100")
ALL = list(itertools.product(("ada", "eve"), ("vision", "language"), ("night", "default"), ("a100", "default")))


def main():
    with Cluster(nodes=2, cores=8) as cluster:
        token = cluster.api.call("POST", "/v1/users/slurm-1/token?create=1")["token"]
        account = pwd.getpwuid(os.getuid()).pw_name
        people = "".join(f"---\nkind: User\nname: {name}\nlinux_user: {account}\n" for name in ("ada", "eve"))
        cluster.run("apply", "-f", "-", input=OBJECTS + people)
        adapter = FakeAdapter(cluster, token)

        def submit(face, wanted):
            user, project, queue, pool = wanted
            options = ["-A", project, "-q", queue, "-p", pool, "-n", "1", "--mem", "10M", "--wrap", "true"]
            if face == "sbatch":
                return cluster.run("--parsable", "-o", "/dev/null", *options, name=face, cwd=cluster.folder, DOVE_USER=user)
            return cluster.run("submit", "-o", "name", *options, cwd=cluster.folder, DOVE_USER=user)

        def share(percent):
            cluster.run("apply", "-f", "-", input="kind: Settings\nname: moves\njob: {executor: {slurm: {percent: %d, %s}}}\n"
                        % (percent, ROUTE))

        def submit_all():
            """{(face, what it asks for): (its number, the messages)}"""
            done = {key: submit(*key) for key in itertools.product(("dove", "sbatch"), ALL)}
            return {key: (int(one.stdout.split()[-1]), one.stderr) for key, one in done.items()}

        def sent(jobs):
            return {key for key, (job, _) in jobs.items() if cluster.job(job).get("executor", "") == "slurm"}

        try:
            until(lambda: all(node["state"] == "ready" for node in cluster.nodes()), 20, "the nodes to take jobs")
            share(100)
            jobs = submit_all()
            theirs = {("dove", NAMED), ("sbatch", NAMED)}
            assert sent(jobs) == theirs, sent(jobs)
            for key in theirs:
                assert 'settings "moves"' in jobs[key][1], jobs[key]
            numbers = {jobs[key][0] for key in theirs}
            until(lambda: adapter.runs == numbers, 20, f"Slurm to be told of {numbers}")

            share(0)
            back = submit_all()
            assert not sent(back), sent(back)
            ours = [job for some in (jobs, back) for key, (job, _) in some.items() if some is back or key not in theirs]
            ends = {job: cluster.wait(job, 60)["state"] for job in ours}
            assert set(ends.values()) == {"completed"}, ends
            assert sent(jobs) == theirs and adapter.runs == numbers, "what was sent stays"
        finally:
            adapter.end()


if __name__ == "__main__":
    main()
