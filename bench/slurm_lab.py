"""Real Slurm on this machine: one slurmctld and several slurmd on loopback, high-throughput settings, no cgroups; with
accounting also a slurmdbd over a MariaDB that listens on a Unix socket alone. Needs root and `tools/setup peers`; ended
by the recorded pids.

It is the machine's own Slurm, or the one of SLURM_ROOT: the folder build/peer-slurm, where `tools/peer_tools slurm` puts the
Slurm of a newer Debian. Its programs run with their own loader and libraries, among the files of this machine: jobs and
prologs find what they find beside the machine's Slurm."""
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time


HARMLESS = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"]  # devices that pass for GPUs
NEWER = os.environ.get("SLURM_ROOT", "")
PLUGINS = f"{NEWER}/lib/slurm-wlm" if NEWER else f"/usr/lib/{platform.machine()}-linux-gnu/slurm-wlm"


def program(name):
    """A daemon's path, by the name without Debian's suffix."""
    places = [f"{NEWER}/bin/{name}"] if NEWER else [f"/usr/sbin/{name}-wlm", f"/usr/sbin/{name}"]
    return next((p for p in places if os.path.exists(p)), None)


def plugin(name):
    """The path of one of Slurm's plug-ins; None: it is not installed."""
    path = f"{PLUGINS}/{name}.so"
    return path if os.path.exists(path) else None


def available():
    return os.geteuid() == 0 and program("slurmctld") and program("slurmd") and (NEWER or shutil.which("sbatch"))


def accounting_available():
    return available() and program("slurmdbd") and shutil.which("mariadbd")


def job_fields(text):
    """What `scontrol show job -d` says of one job, as 22.05 names and writes it."""
    fields = dict(re.findall(r"(\S+?)=(\S*)", text))
    if "AllocTRES" in fields:
        fields["TRES"] = fields["AllocTRES"]
    return {name: value.replace("gres/", "gres:") if name.startswith("TresPer") else value for name, value in fields.items()}


def placeholder_user(user):
    """Whom Slurm accounts a placeholder of that user's job to, which our agents run: to root where its salloc has no --uid."""
    return "root(0)" if NEWER else user


def free_ports(count):
    """(a base port with `count` free ones after it, what keeps them from other labs while it is open)"""
    for base in range(16800, 30000, 200):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0dove-slurm-ports-{base}")
        except OSError:
            claim.close()
            continue
        if not any(is_taken(port) for port in range(base, base + count)):
            return base, claim
        claim.close()
    raise RuntimeError("no free ports for Slurm")


def is_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def environment_of(pid):
    """Its variables; none of what is gone, ended or the kernel's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(line.split(b"=", 1) for line in file.read().split(b"\0") if b"=" in line)
    except OSError:
        return {}


class SlurmLab:
    node_options = ""  # of all nodes in slurm.conf, besides
    partitions = ("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO",)
    ungated = ()  # options of sbatch for a job that no gate looks at
    command_limit_s = 120
    cred_expire_s = None  # how long credentials are good; Slurm's default is two minutes

    def __init__(self, nodes, cpus, accounting=False, gpus=0, threads=1):
        """cpus: of each node, `threads` of each core. gpus: of each node, each with a GRES type of its own; memory is
        counted then too."""
        self.nodes, self.cpus, self.accounting, self.gpus, self.threads = nodes, cpus, accounting, gpus, threads
        if accounting:
            self.cred_expire_s = 5  # a requeued job waits for that long
        self.folder = tempfile.mkdtemp(prefix="dove-slurm.")
        os.chmod(self.folder, 0o755)
        self.processes, self.slurmds = [], {}
        self.munge = None
        self.environment = {**os.environ, "SLURM_CONF": self.folder + "/slurm.conf"}
        for name in list(self.environment):
            if name.startswith("SLURM_") and name != "SLURM_CONF":
                del self.environment[name]
        self.commands = "/usr/bin"  # where Slurm's commands are
        if NEWER:
            self.commands = f"{self.folder}/newer/bin"
            self.environment["PATH"] = f"{self.commands}:{self.environment['PATH']}"

    def __enter__(self):
        try:
            if NEWER:  # where every user can reach it
                shutil.copytree(NEWER, f"{self.folder}/newer", symlinks=True)
            self.start_munge()
            self.write_config()
            if self.accounting:
                self.start_accounting()
            # The daemons look at the name they are called by: plain ones, without Debian's suffix.
            for name in ("slurmctld", "slurmd", "slurmstepd"):
                os.symlink(self.program(name), f"{self.folder}/{name}")
            self.start_controller("-c")
            for i in range(self.nodes):
                os.makedirs(f"{self.folder}/spool/n{i}")
                self.start_node(f"n{i}")
            self.until("sinfo -h -t idle -o %D", lambda out: out.strip() == str(self.nodes))
        except BaseException:
            self.__exit__()
            raise
        return self

    def program(self, name):
        return f"{self.commands}/{name}" if NEWER else program(name)

    def plugins(self):
        """Where they are, for a file of settings."""
        return [f"PluginDir={self.folder}/newer/lib/slurm-wlm"] if NEWER else []

    def start_controller(self, *options):
        self.controller = self.spawn("slurmctld", "-D", *options)
        self.until("scontrol ping", lambda out: "UP" in out)

    def registered(self):
        """Waits until all nodes have told slurmctld of themselves since its start. Slurm 22.05 may count a GPU as taken for good
        when its job ends before."""
        self.until("scontrol show node", lambda out: "SlurmdStartTime=None" not in out)

    def start_node(self, name):
        self.slurmds[name] = self.spawn("slurmd", "-D", "-N", name, "-d", f"{self.folder}/slurmstepd")

    def kill_controller(self, how=signal.SIGKILL):
        self.end(self.controller, how)

    def kill_node(self, name):
        self.end(self.slurmds.pop(name), signal.SIGKILL)

    def end(self, process, how):
        process.send_signal(how)
        process.wait(30)
        self.processes.remove(process)

    def save_jobs(self):
        """Has slurmctld write its jobs as they are now to its disk: killed before, it forgets what came since.

        It does so some seconds after a change, so one is made.
        """
        job = self.run(["sbatch", "--parsable", "--hold", "-o", "/dev/null", *self.ungated, "--wrap", "true"]).strip()
        self.run(["scancel", job])
        self.saved("job_state")

    def saved(self, what):
        """Waits until slurmctld has written that file again. It does so some seconds after a change: where that takes longer, what
        changed was written before this was asked."""
        began = time.time()
        while time.time() < began + 15:
            if os.path.getmtime(f"{self.folder}/state/{what}") > began:
                return
            time.sleep(0.2)

    def forget_soon(self, after_s=2):
        """slurmctld forgets a job about `after_s` after its end."""
        path = self.folder + "/slurm.conf"
        with open(path) as file:
            lines = re.sub(r"^MinJobAge=.*", f"MinJobAge={after_s}", file.read(), flags=re.M)
        with open(path, "w") as file:
            file.write(lines)
        self.run(["scontrol", "reconfigure"])

    def start_munge(self):
        """Its own, so that labs can be beside one another."""
        home = f"{self.folder}/munge"
        os.mkdir(home, 0o711)
        with open(os.open(f"{home}/key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))
        for path in (home, f"{home}/key"):
            shutil.chown(path, "munge", "munge")
        self.munge = subprocess.Popen(
            ["/usr/sbin/munged", "-F", "--num-threads=2", f"--socket={home}/socket", f"--key-file={home}/key",
             f"--pid-file={home}/pid", f"--log-file={home}/log", f"--seed-file={home}/seed"],
            user="munge", group="munge", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if subprocess.run(f"munge -n -S {home}/socket | unmunge -S {home}/socket", shell=True,
                              capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("munged did not start")

    def auth_info(self):
        expires = [f"cred_expire={self.cred_expire_s}"] if self.cred_expire_s else []
        return "AuthInfo=" + ",".join([f"socket={self.folder}/munge/socket", *expires])

    def write_config(self):
        host = socket.gethostname().split(".")[0]
        port, self.ports_claim = free_ports(120)
        last = self.nodes - 1
        for name in ("state", "spool", "log"):
            os.makedirs(f"{self.folder}/{name}")
        # After Slurm's own high-throughput guide: few messages, no job accounting, short waits.
        lines = [
            "ClusterName=bench", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={port}",
            "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny", "SlurmUser=root", "AuthType=auth/munge",
            self.auth_info(), f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
            f"SlurmdSpoolDir={self.folder}/spool/%n", f"StateSaveLocation={self.folder}/state",
            f"SlurmctldLogFile={self.folder}/log/slurmctld", f"SlurmdLogFile={self.folder}/log/slurmd-%n",
            "SlurmctldDebug=error", "SlurmdDebug=error", "SwitchType=switch/none", "MpiDefault=none",
            "ReturnToService=2", "SlurmdParameters=config_overrides", "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
            "SchedulerType=sched/backfill", "MaxJobCount=20000", "MinJobAge=300", "PriorityType=priority/basic",
            "JobAcctGatherType=jobacct_gather/none",
            # An srun that asks for its step while slurmctld starts waits this long before it asks again, a minute at least.
            "MailProg=/bin/true", "SlurmctldTimeout=60", "SlurmdTimeout=300", "InactiveLimit=0", "KillWait=30",
            "SchedulerParameters=batch_sched_delay=0,sched_min_interval=20000,"
            "max_rpc_cnt=150,default_queue_depth=1000",
            f"NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{port + 10}-{port + 10 + last}] "
            f"Sockets=1 CoresPerSocket={self.cpus // self.threads} ThreadsPerCore={self.threads} RealMemory=16000 "
            f"{self.node_options} State=UNKNOWN",
            *self.partitions,
        ]
        lines += self.plugins()
        if self.accounting:
            self.write_accounting(host, port + 2)
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
                      f"AccountingStoragePass={self.folder}/munge/socket",
                      f"AccountingStoragePort={port + 2}"]
        else:
            lines += ["AccountingStorageType=accounting_storage/none"]
        if self.gpus:
            self.add_gpus(lines)
        with open(self.folder + "/slurm.conf", "w") as file:
            file.write("\n".join(lines) + "\n")

    def add_gpus(self, lines):
        gres = ",".join(f"gpu:h200_{i}:1" for i in range(self.gpus))
        for i, line in enumerate(lines):
            if line.startswith("NodeName="):
                lines[i] = line.replace(" State=", f" Gres={gres} State=")
            elif line.startswith("SelectTypeParameters="):
                lines[i] = "SelectTypeParameters=CR_Core_Memory"
        lines += ["GresTypes=gpu", "DefMemPerCPU=100"]
        if self.accounting:
            lines.append("AccountingStorageTRES=gres/gpu")
        with open(self.folder + "/gres.conf", "w") as file:
            for i, device in enumerate(HARMLESS[:self.gpus]):
                file.write(f"NodeName=n[0-{self.nodes - 1}] Name=gpu Type=h200_{i} File=/dev/{device}\n")

    def write_accounting(self, host, port):
        lines = ["AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge/socket", f"DbdHost={host}", "DbdAddr=127.0.0.1", f"DbdPort={port}", "SlurmUser=root",
                 f"LogFile={self.folder}/log/slurmdbd", "DebugLevel=error", f"PidFile={self.folder}/slurmdbd.pid",
                 "StorageType=accounting_storage/mysql", "StorageHost=localhost", "StorageUser=root",
                 "StorageLoc=slurm_acct_db", "CommunicationParameters=NoInAddrAny", *self.plugins()]
        with open(os.open(self.folder + "/slurmdbd.conf", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")

    def start_accounting(self):
        """A database that goes with the folder and never waits for a disk, slurmdbd, and the account that jobs run under."""
        data, sock = f"{self.folder}/database", f"{self.folder}/db.sock"
        self.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db",
                  "--auth-root-authentication-method=normal", "--debug-no-sync"])
        with open(f"{self.folder}/log/mariadbd.out", "ab") as out:
            self.processes.append(subprocess.Popen(
                ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={sock}",
                 "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
                 "--innodb-flush-method=nosync", "--debug-no-sync"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out))
        self.until(f"mariadb --no-defaults -S {sock} -e 'select 7'", lambda out: "7" in out)
        os.symlink(self.program("slurmdbd"), f"{self.folder}/slurmdbd")
        # libmariadb finds the socket of "localhost" by this variable.
        self.environment["MYSQL_UNIX_PORT"] = sock
        self.spawn("slurmdbd", "-D")
        self.until("sacctmgr -n show cluster && echo up", lambda out: "up" in out)
        self.run("sacctmgr -i add cluster bench")
        self.run("sacctmgr -i add account default Cluster=bench")
        self.run("sacctmgr -i add user root Account=default Cluster=bench")

    def spawn(self, name, *arguments):
        with open(f"{self.folder}/log/{name}.out", "ab") as out:
            self.processes.append(subprocess.Popen(
                [f"{self.folder}/{name}", *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT))
        return self.processes[-1]

    def run(self, command, check=True):
        done = subprocess.run(command, shell=isinstance(command, str), env=self.environment, text=True, errors="replace",
                              capture_output=True, timeout=self.command_limit_s)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def until(self, command, done, limit_s=60):
        deadline = time.monotonic() + limit_s
        while not done(out := self.run(command, check=False)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Slurm: {command}: {out}; see {self.folder}/log")
            time.sleep(0.05)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.end_jobs()
        if self.munge:
            self.munge.terminate()
            self.munge.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_jobs(self):
        """Ends what jobs have left running: no daemon does when it is stopped, and a cancelled job's shell may be gone
        before its children are looked for. They are known by their environment."""
        conf = self.environment["SLURM_CONF"].encode()

        def is_left(pid):
            found = environment_of(pid)
            return found.get(b"SLURM_CONF") == conf and b"SLURM_JOB_ID" in found

        deadline = time.monotonic() + 10
        while left := [pid for pid in os.listdir("/proc") if pid.isdigit() and is_left(pid)]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"Slurm: processes {left} do not end")
            for pid in left:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
