"""A report about a crowd (slurm_crowd_test.py) in which something does not end: in few lines what each side says of it, for a
log that may be cut, and everything that is known in a file."""
import os
import re
import tempfile
import time

from shared_nodes import ENDED

JOBS_MAX = 3  # at most this many of what does not end are in the lines
ADAPTER_LINES = 20
LINE_MAX = 290
WHY_LINES = 6


class CrowdReport:
    def __init__(self, lab, cluster, done):
        self.lab, self.cluster, self.done = lab, cluster, done

    def text(self, theirs, ours):
        """`theirs`: lines of `squeue -h -o '%A %j ...'` of what does not end there; `ours`: "26 running" of our jobs."""
        lines = []
        for line in theirs[:JOBS_MAX]:
            number, name = (line.split() + [""])[:2]
            held_for = re.match(r"dove-(\d+)\.", name)
            lines += self.of_job(held_for and held_for[1], number)
        for line in ours[:JOBS_MAX]:
            lines += self.of_job(line.split()[0], None)
        path = self.whole(theirs, ours)
        return "\n".join(line[:LINE_MAX] for line in [f"{theirs or ours}; all that is known: {path}", *dict.fromkeys(lines)])

    # -- what each says of one of them

    def of_job(self, ours, theirs):
        said = [self.slurms(theirs)] if theirs else []
        if ours:
            said += [self.ledgers(ours), *self.why(ours)]
        return [*said, *self.adapters(ours, theirs)]

    def slurms(self, job):
        fields = dict(re.findall(r"(\S+?)=(\S*)", self.lab.run(f"scontrol show job -d -o {job}", check=False)))
        mark = self.lab.run(f"squeue -h -t all -j {job} -O admin_comment:60", check=False).strip()
        steps = self.lab.run(f"squeue -h -s -j {job} -o '%i %M'", check=False).split("\n")[:-1]
        wanted = ("JobState", "Reason", "RunTime", "EndTime", "NodeList", "GRES", "Comment")
        return f"Slurm: job {job}, AdminComment={mark!r} " + " ".join(
            f"{name}={fields.get(name, '')}" for name in wanted) + f" steps={steps}"

    def ledgers(self, job):
        try:
            found = self.cluster.job(int(job))
        except Exception as error:
            return f"ledger: job {job}: {error}"
        told = [f"attempt {one['number']}: {seconds_ago(one['allocated_at_us'])} allocated, "
                f"{seconds_ago(one['started_at_us'])} started, {seconds_ago(one['ended_at_us'])} ended on "
                + ",".join(place["node_name"] for place in one["placements"]) for one in found["attempts"][-2:]]
        return f"ledger: job {job} {found['state']} of executor {found.get('executor') or 'none'}; " + "; ".join(told)

    def why(self, job):
        said = self.cluster.run("why", job, check=False)
        return [f"why: {line}" for line in (said.stdout + said.stderr).splitlines()[:WHY_LINES]]

    def adapters(self, ours, theirs):
        """What the adapter logged of them last."""
        marks = [f'"job":{ours},', f"dove-{ours}."] if ours else []
        marks += [f'"slurm_job":{theirs},', f'"slurm_job":{theirs}}}'] if theirs else []
        found = [line for line in self.log("adapter") if any(mark in line.replace(" ", "") for mark in marks)]
        return [f"adapter: {line}" for line in found[-ADAPTER_LINES:]] or ["adapter: nothing"]

    # -- everything

    def log(self, name):
        try:
            with open(f"{self.lab.folder}/log/{name}", errors="replace") as file:
                return file.read().splitlines()
        except OSError:
            return []

    def whole(self, theirs, ours):
        """The path of the file. It stays where the programs are, which outlive the test's own folders."""
        folder = os.environ.get("DOVE_BUILD_DIR", "")
        file = tempfile.NamedTemporaryFile("w", prefix="crowd.", suffix=".txt", delete=False, errors="replace",
                                           dir=folder if os.path.isdir(folder) else "/tmp")
        with file:
            file.write("\n".join(self.everything(theirs, ours)) + "\n")
        return file.name

    def everything(self, theirs, ours):
        yield f"{time.strftime('%X')}: these never end: {theirs}, of ours {ours}"
        yield f"done: {self.done}"
        for command in ("squeue -a -t all -o '%A %j %T %r %k %M %N %u'", "squeue -s", "scontrol show node -d -o",
                        "scontrol show job -d -o", "sdiag", "ps axo pid,ppid,lstart,stat,wchan:20,args"):
            yield f"-- {command}\n{self.lab.run(command, check=False)}"
        jobs = self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]
        for job in jobs:
            if job["state"] not in ENDED:
                yield f"-- dove show {job['id']}\n{self.cluster.run('show', str(job['id']), check=False).stdout}"
        for job in jobs:
            yield f"-- job {job['id']}\n{self.cluster.job(job['id'])}"
        for node in self.cluster.names:
            yield f"-- node {node}\n{self.cluster.api.call('GET', '/v1/nodes/' + node)}"
        yield from self.steps()
        for name in sorted(os.listdir(f"{self.lab.folder}/log")):
            yield f"-- log {name}\n" + "\n".join(self.log(name)[-2000:])
        with open(f"{self.cluster.folder}/processes.log", errors="replace") as log:
            yield "-- ours\n" + "".join(log.readlines()[-2000:])

    def steps(self):
        """What the adapter keeps of the sruns that it began."""
        for folder, _, names in os.walk(f"{self.lab.folder}/steps"):
            for name in sorted(names):
                with open(f"{folder}/{name}", errors="replace") as file:
                    yield f"-- {folder}/{name}\n{file.read(4096)}"


def seconds_ago(at_us):
    return f"{time.time() - at_us / 1e6:.0f} s ago" if at_us else "never"
