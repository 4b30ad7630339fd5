"""Which job has what, while a real Slurm and a cluster of ours work on the same nodes: sampled from the kernel's cgroups, from
`scontrol show job -d` and from the ledger, each by a thread of its own, and compared afterwards with what each job says of
its own devices."""
import collections
import glob
import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import Api  # noqa: E402
from gate_lab import GateLab  # noqa: E402
from shared_nodes import numbers_of, slurms_number, until  # noqa: E402

EVERY_S = 0.01
TURN_S = int(os.environ.get("DOVE_TEST_LIMIT_S", "240"))  # a crowd of 150 operations takes one to four minutes
ORPHAN_S = 5  # a reconcile of one second, and the calls of a busy machine
SCONTROL_MS = 50  # what one look by scontrol takes there; where it takes longer, so do the adapter's calls
CGROUPS = "/sys/fs/cgroup"
HIERARCHIES = ("memory", "devices", "freezer", "pids", "cpuset")  # of version 1, which Slurm 22.05 needs without systemd
MIB = 1 << 20
HOLDING = ("RUNNING", "SUSPENDED", "COMPLETING")  # a fence is suspended, and has its device
NVIDIA = 195  # the major number of device files that stand for GPUs: no driver of this machine has it

# What a job does first: it tries to open each device; $open are those that its cgroup lets it. They have no driver.
TRIES_DEVICES = """\
open=
for i in {numbers}; do
  case $(head -c1 {devices}/gpu$i 2>&1) in *"not permitted"*) ;; *) open="$open $i" ;; esac
done
"""


def has_cgroups():
    return all(os.path.isdir(f"{CGROUPS}/{each}") for each in HIERARCHIES)


class CgroupLab(GateLab):
    """Slurm confines its jobs to their devices and their memory, as sites have it. One at a time on a machine: nodes and jobs
    of two labs have the same names, so the cgroups of one would be taken for the other's, and ended as such."""

    def __enter__(self):
        self.turn = socket.socket(socket.AF_UNIX)
        until(self.is_our_turn, TURN_S, "the end of another lab with cgroups")
        return super().__enter__()

    def is_our_turn(self):
        try:
            self.turn.bind("\0dove-slurm-cgroups")
        except OSError:
            return False
        return True

    def write_config(self):
        super().write_config()
        self.devices, self.said = self.folder + "/devices", self.folder + "/said"
        os.mkdir(self.devices)
        with open(self.said, "w"):
            os.chmod(self.said, 0o666)
        for i in range(self.gpus):
            os.mknod(f"{self.devices}/gpu{i}", 0o20666, os.makedev(NVIDIA, i))
            os.chmod(f"{self.devices}/gpu{i}", 0o666)
        self.rewrite("slurm.conf", r"TaskPlugin=\S+", "TaskPlugin=task/cgroup")
        self.rewrite("slurm.conf", r"ProctrackType=\S+", "ProctrackType=proctrack/cgroup")
        self.rewrite("gres.conf", r"Type=h200_(\d+) File=\S+", rf"Type=h200_\1 File={self.devices}/gpu\1")
        with open(self.folder + "/cgroup.conf", "w") as file:
            file.write(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={CGROUPS}\nConstrainRAMSpace=yes\n"
                       "ConstrainDevices=yes\nConstrainCores=yes\nMinRAMSpace=1\n")

    def rewrite(self, name, pattern, text):
        with open(f"{self.folder}/{name}") as file:
            lines = file.read()
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(re.sub(pattern, text, lines))

    def tries_devices(self):
        return TRIES_DEVICES.format(numbers=" ".join(map(str, range(self.gpus))), devices=self.devices)

    def says_its_devices(self):
        return self.tries_devices() + f'echo "$SLURM_JOB_ID $SLURMD_NODENAME $(date +%s.%N)$open" >>{self.said}\n'

    def __exit__(self, *trouble):
        super().__exit__(*trouble)
        for hierarchy in HIERARCHIES:
            for folder, _, _ in os.walk(f"{CGROUPS}/{hierarchy}", topdown=False):
                if re.search(r"/slurm_n\d+(/|$)", folder):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass
        self.turn.close()


class Unrecorded:
    """The same answer a hundred times a second is not to be kept."""

    def add(self, *_):
        pass


class Sampler(threading.Thread):
    def __init__(self, sample):
        super().__init__(daemon=True)
        self.sample, self.ends, self.count, self.silent, self.seconds = sample, threading.Event(), 0, 0, 0.0
        self.trouble = None

    def run(self):
        began = time.monotonic()
        while not self.ends.is_set():
            at = time.monotonic()
            self.count += 1
            try:
                if not self.sample():
                    self.silent += 1
            except Exception as trouble:  # else nothing would be seen from here on, and nothing found wrong
                self.trouble = trouble
                break
            self.ends.wait(max(EVERY_S - (time.monotonic() - at), 0.001))
        self.seconds = time.monotonic() - began

    def close(self):
        self.ends.set()
        self.join(30)
        return f"{self.count - self.silent} samples, one each {self.period_ms():.0f} ms"

    def period_ms(self):
        """From one to the next, on average. REQUIRES: closed."""
        return 1000 * self.seconds / max(self.count, 1)


Run = collections.namedtuple("Run", "node who begun ended")  # wall time; who: ("slurm", id) or ("ours", job, attempt)


class Watch:
    """Between start() and close(). `wrong` are contradictions; they are found at once or by close()."""

    def __init__(self, lab, cluster, memory_mib, threads, lent=None):
        """lent: {node: indices that Slurm's users may have}; None: all."""
        self.lab, self.cluster, self.memory_mib, self.threads, self.lent = lab, cluster, memory_mib, threads, lent
        self.fences, self.put_back, self.figures = set(), set(), {}
        self.wrong, self.placeholders, self.findings = [], {}, set()
        self.cores_held = collections.defaultdict(dict)  # {(job, attempt): {(Slurm job, node): cores}}
        self.alive, self.runs, self.memory_seen = {}, [], 0
        self.url, self.token = cluster.url, cluster.api.headers["Authorization"].split()[1]
        self.api = Api(self.url, self.token, timeout=5)
        self.api.recorder = Unrecorded()
        with open("/proc/self/cgroup") as file:
            own = dict(line.strip().split(":")[1:] for line in file)
        self.memory = CGROUPS + "/memory" + next(path for names, path in own.items() if "memory" in names.split(","))
        self.samplers = {"cgroups": Sampler(self.look_at_cgroups), "scontrol": Sampler(self.look_at_slurm),
                         "ledger": Sampler(self.look_at_ledger)}

    def start(self):
        for sampler in self.samplers.values():
            sampler.start()

    def say_wrong(self, text):
        if len(self.wrong) < 50 and text not in self.wrong:
            self.wrong.append(text)
            print(f"crowd: at {time.time():.3f}: {text}", flush=True)

    # -- the kernel

    def look_at_cgroups(self):
        now, seen, memory = time.time(), set(), collections.Counter()
        for name in self.cluster.names:
            for folder in glob.glob(f"{CGROUPS}/devices/slurm_{name}/uid_*/job_*"):
                if any(self.is_used(leaf) for leaf in glob.glob(folder + "/step_*/cgroup.procs")
                       + glob.glob(folder + "/step_*/task_*/cgroup.procs")):
                    seen.add((name, ("slurm", int(folder.rsplit("_", 1)[1]))))
                    memory[name] += self.limit(folder.replace(CGROUPS + "/devices", CGROUPS + "/memory"))
            mark = hashlib.sha256(os.path.realpath(f"{self.cluster.folder}/nodes/{name}").encode()).hexdigest()[:8]
            for folder in glob.glob(f"{self.memory.rstrip('/')}/dove-{name}.{mark}/{name}.*"):
                if any(self.is_used(leaf) for leaf in glob.glob(folder + "/*/cgroup.procs")):
                    job, attempt = folder.rsplit(".", 2)[1:]
                    seen.add((name, ("ours", int(job), int(attempt))))
                    memory[name] += self.limit(folder)
        for one in seen - self.alive.keys():
            self.alive[one] = now
        for node, who in self.alive.keys() - seen:
            self.runs.append(Run(node, who, self.alive.pop((node, who)), now))
        for node, total in memory.items():
            self.memory_seen = max(self.memory_seen, total)
            if total > self.memory_mib * MIB:
                self.say_wrong(f"{node}: its cgroups may have {total >> 20} MiB of {self.memory_mib}: {sorted(seen)}")
        return True

    @staticmethod
    def is_used(path):
        try:
            with open(path) as file:
                return bool(file.read(1))
        except OSError:
            return False

    @staticmethod
    def limit(folder):
        try:
            with open(folder + "/memory.limit_in_bytes") as file:
                limit = int(file.read())
                return limit if limit < 1 << 60 else 0
        except OSError:
            return 0

    # -- Slurm

    def look_at_slurm(self):
        try:
            said = subprocess.run(["scontrol", "show", "job", "-d", "-o"], env=self.lab.environment, text=True,
                                  capture_output=True, timeout=20, errors="replace")
        except subprocess.TimeoutExpired:
            return False
        if said.returncode != 0:
            return False
        now, devices, cores, memory = time.time(), {}, {}, collections.Counter()
        for line in said.stdout.splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", line))
            if "JobId" not in fields:
                continue  # "No jobs in the system"
            name, job, state = fields["JobName"], fields["JobId"], fields.get("JobState")
            if "AdminComment=put back by dovetail" in line:
                self.put_back.add(job)
            if state not in HOLDING:
                continue
            if re.match(r"dove-(fence|keep)-", name):
                self.fences.add(job)
            # What is completing has been released; how long that takes is Slurm's matter.
            if re.match(r"dove-\d", name) and state != "COMPLETING":
                self.placeholders.setdefault((name, job), []).append(now)
            ours = re.match(r"dove-(\d+)\.(\d+)@", name)
            for node, ids, held, gres in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", line):
                memory[node] += int(held)
                if ours and state == "RUNNING":
                    self.cores_held[int(ours[1]), int(ours[2])][job, node] = set(numbers_of(ids))
                indices = {i for text in re.findall(r"\(IDX:([\d,-]+)\)", gres) for i in numbers_of(text)}
                if self.lent is not None and not name.startswith("dove-") and (stray := indices - self.lent[node]):
                    self.say_wrong(f"Slurm gives its job {job} the GPUs {sorted(stray)} of {node}, which it was not lent")
                # The cores of what is suspended are free for others, until its end.
                for kind, taken, numbers in (("GPU", devices, re.findall(r"\(IDX:([\d,-]+)\)", gres)),
                                             ("core", cores, [ids] if state == "RUNNING" or fields["SuspendTime"] == "None" else [])):
                    for i in (i for text in numbers for i in numbers_of(text)):
                        if (other := taken.setdefault((node, i), job)) != job:
                            self.say_wrong(f"Slurm gives {kind} {i} of {node} to its jobs {other} and {job}")
        for node, total in memory.items():
            if total > 16000:
                self.say_wrong(f"Slurm gives {total} MiB of {node}")
        return True

    # -- the ledger

    def look_at_ledger(self):
        try:
            self.api.host, self.api.port = self.cluster.api.host, self.cluster.api.port
            for name in self.cluster.names:
                node = self.api.call("GET", "/v1/nodes/" + name)
                self.findings |= {finding["evidence"] for finding in node["findings"]}
            return True
        except Exception:  # the server is being killed now and then
            self.api.close()
            return False

    # -- afterwards

    def close(self, outages):
        """Lines that say what was seen. `outages`: (begin, end) of the times when a party was down or stood still."""
        said = [f"{name}: {sampler.close()}" for name, sampler in self.samplers.items()]
        for name, sampler in self.samplers.items():
            if sampler.trouble is not None or sampler.count == sampler.silent:
                self.say_wrong(f"nobody looks at {name} any more: {sampler.trouble!r}")
        self.figures = {f"{name}_ms": sampler.period_ms() for name, sampler in self.samplers.items()}
        jobs = self.all_jobs()
        stops = collections.Counter(attempt["stop_reason"] for job in jobs.values() for attempt in job["attempts"])
        self.figures |= {"preempted": stops["preempted"], "put_back": len(self.put_back), "jobs": len(jobs)}
        self.check_ledger(jobs)
        said += self.check_runs(jobs)
        said.append(self.check_placeholders(jobs, outages))
        said.append(self.check_cores(jobs))
        said.append(f"ledger: {stops['preempted']} attempts preempted, {len(self.put_back)} jobs of Slurm put back; "
                    + ", ".join(f"{count} {reason}" for reason, count in sorted(stops.items(), key=str)))
        said += [f"ledger: {finding}" for finding in sorted(self.findings)]
        said.append(f"cgroups: at most {self.memory_seen >> 20} MiB of {self.memory_mib} of a node")
        return said

    def all_jobs(self):
        last = max((one["id"] for one in self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]), default=0)
        return {number: self.cluster.job(number) for number in range(1, last + 1)}

    def check_ledger(self, jobs):
        """No core, device or byte of a node is of two attempts at one instant, by the ledger's own records."""
        moves = []  # by time; what ends at an instant goes before what begins
        for number, job in jobs.items():
            for attempt in job["attempts"]:
                end = attempt["ended_at_us"] or 1 << 62
                for place in attempt["placements"]:
                    devices = [("GPU", grant["device"]) for grant in place["devices"]]
                    moves += [(end, 0, number, place["node_name"], devices, -place["memory_bytes"]),
                              (attempt["allocated_at_us"], 1, number, place["node_name"], devices, place["memory_bytes"])]
                    if (attempt["started_at_us"] or end) >= end:
                        continue  # it never ran, or was over at once
                    # Its cores at last are those that Slurm held for it, which is known when it starts.
                    cores = [("core", i) for i in place["cores"]]
                    moves += [(end, 0, number, place["node_name"], cores, 0),
                              (attempt["started_at_us"], 1, number, place["node_name"], cores, 0)]
        moves.sort(key=lambda move: move[:2])
        taken, memory = {}, collections.Counter()
        for at, begins, number, node, parts, more in moves:
            memory[node] += more
            if memory[node] > self.memory_mib * MIB:
                self.say_wrong(f"the ledger gives {memory[node] >> 20} MiB of {node} at {at}")
            for part in parts:
                if not begins:
                    if taken.get((node, *part)) == number:
                        del taken[(node, *part)]
                elif (other := taken.setdefault((node, *part), number)) != number:
                    self.say_wrong(f"the ledger gives {part[0]} {part[1]} of {node} to jobs {other} and {number}")

    def devices_said(self):
        """{(Slurm job, node): [(time, devices)]}, as the jobs found them open."""
        found = collections.defaultdict(list)
        with open(self.lab.said) as file:
            for line in file:
                job, node, at, *devices = line.split()
                found[int(job), node].append((float(at), {int(i) for i in devices}))
        return found

    def check_runs(self, jobs):
        """No device is in the hands of the processes of two jobs in one sample of the cgroups."""
        said, held, unknown = self.devices_said(), [], 0
        for run in self.runs + [Run(node, who, begun, time.time()) for (node, who), begun in self.alive.items()]:
            if run.who[0] == "ours":
                attempt = next(one for one in jobs[run.who[1]]["attempts"] if one["number"] == run.who[2])
                devices = {grant["device"] for place in attempt["placements"] if place["node_name"] == run.node
                           for grant in place["devices"]}
            else:
                devices = next((devices for at, devices in said[run.who[1], run.node]
                                if run.begun - 0.5 <= at <= run.ended + 0.5), None)
                if devices is None:
                    unknown += 1
                    continue
            held += [((run.node, device), run) for device in devices]
        held.sort(key=lambda one: (one[0], one[1].begun))
        for (device, run), (other, following) in zip(held, held[1:]):
            if device == other and following.begun < run.ended:
                self.say_wrong(f"GPU {device[1]} of {device[0]} is open to {run.who} until {run.ended:.3f} and to "
                               f"{following.who} from {following.begun:.3f}")
        kinds = collections.Counter(run.who[0] for run in self.runs)
        return [f"cgroups: {kinds['ours']} runs of ours, {kinds['slurm']} of Slurm, {unknown} too short to say their "
                f"devices; {len(held)} times a GPU in use"]

    def check_cores(self, jobs):
        """What runs on our side has the cores of its placeholder, if that is the one that it was started with."""
        same = 0
        for (number, name), held in self.cores_held.items():
            attempt = next((one for one in jobs[number]["attempts"] if one["number"] == name), None)
            if attempt is None or not attempt["started_at_us"] or len({job for job, _ in held}) > 1:
                continue
            for place in attempt["placements"]:
                cores = next((cores for (_, node), cores in held.items() if node == place["node_name"]), None)
                if cores is None:
                    continue
                given = {slurms_number(i, self.threads) for i in place["cores"]}
                if given != cores:
                    self.say_wrong(f"job {number} has the cores {sorted(given)} of {place['node_name']}, and its "
                                   f"placeholder {sorted(cores)}")
                same += 1
        return f"cores: {same} placements compared with those of their placeholders"

    def check_placeholders(self, jobs, outages):
        """How long a placeholder was there after its attempt, while all parties worked."""
        worst, which = 0.0, ""
        for (name, slurm_job), times in self.placeholders.items():
            job, attempt = (int(i) for i in re.match(r"dove-(\d+)\.(\d+)", name).groups())
            ended = next((one["ended_at_us"] for one in jobs[job]["attempts"] if one["number"] == attempt), None)
            if ended is None:
                continue
            since = ended / 1e6
            for begun, over in sorted(outages):
                if begun < times[-1] and over > since:
                    since = over
            if times[-1] - since > worst:
                worst, which = times[-1] - since, f"{name} (Slurm's job {slurm_job}), last seen at {times[-1]:.1f}"
        if worst > ORPHAN_S * max(self.figures["scontrol_ms"] / SCONTROL_MS, 1):
            self.say_wrong(f"a placeholder was there {worst:.1f} s after its reason: {which}")
        self.figures |= {"placeholders": len(self.placeholders), "fences": len(self.fences), "orphan_s": worst}
        return f"scontrol: {len(self.placeholders)} placeholders, {len(self.fences)} fences, none more than {worst:.1f} s after its reason"
