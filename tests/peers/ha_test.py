#!/usr/bin/env python3
"""deploy/ha/configure with the real etcd, Patroni and PostgreSQL, three "machines" on ports of loopback: the one with the primary
ends, alone or together with the controller that leads, and another takes over under two controllers that submit and run jobs.
Writes wait at most 2 s longer than Patroni takes, or than it may take (ttl). What was acknowledged is there, ran once, and no task
was ended. All of it goes over TLS: connections without TLS or without a certificate are refused."""
# limit_s: 600
import http.client
import json
import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import SKIP, until  # noqa: E402
from controllers import Controllers  # noqa: E402
from ports import free_ports  # noqa: E402
from postgres import missing, programs  # noqa: E402
from standby_test import LATE, Submissions  # noqa: E402
from submitters import gap_around  # noqa: E402

NAMES = ("db1", "db2", "db3")


class Machine:
    """etcd and Patroni of one machine, with the files that configure wrote."""

    def __init__(self, name, root, user):
        self.name, self.root, self.user, self.processes = name, root, user, []
        self.log = open(os.path.join(root, "processes.log"), "ab")
        with open(os.path.join(root, "etc/default/etcd")) as file:
            words = (line.strip().split("=", 1) for line in file)
            self.etcd = {key: value.strip('"') for key, value in words}
        self.etcd["ETCD_DATA_DIR"] = os.path.join(root, "etcd")
        patroni = os.path.join(root, "etc/patroni")
        self.settings = next(os.path.join(patroni, each) for each in os.listdir(patroni) if each.endswith(".yml"))
        with open(self.settings) as file:
            self.ttl_s = json.load(file)["bootstrap"]["dcs"]["ttl"]

    def start(self):
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.root, "DOVE_E2E": os.environ.get("DOVE_E2E", "")}
        for command, more in ((["etcd"], self.etcd), (["patroni", self.settings], {})):
            self.processes.append(subprocess.Popen(command, env={**environment, **more}, cwd=self.root, stdin=subprocess.DEVNULL,
                                                   stdout=self.log, stderr=self.log, start_new_session=True, **self.user))

    def end(self):
        """As the machine's: nothing of it has time to say anything."""
        pids = [process.pid for process in self.processes]
        try:
            with open(os.path.join(self.root, "data/postmaster.pid")) as file:
                pids.insert(0, int(file.readline()))
        except FileNotFoundError:
            pass
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait(20)
        self.processes = []


class Patroni:
    """What the controllers have in place of one PostgreSQL (postgres.py)."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "ha")
        self.certificates = os.path.join(self.folder, "certificates")
        self.ca = os.path.join(self.folder, "db1/etc/dove/postgres-ca.pem")
        self.bases = {name: free_ports(4) for name in NAMES}
        self.port = self.bases["db1"] + 2
        self.process = None
        self.machines = {}

    def __enter__(self):
        os.makedirs(self.folder)
        os.chmod(os.path.dirname(self.folder), 0o755)
        owner, user = "root", {}
        if os.geteuid() == 0:
            owner, entry = "nobody", pwd.getpwnam("nobody")
            user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        machines = ",".join(f"{name}=127.0.0.1:{base}" for name, base in self.bases.items())
        passwords = os.path.join(self.folder, "passwords")
        for name in NAMES:
            root = os.path.join(self.folder, name)
            os.makedirs(root)
            subprocess.run([f"{ROOT}/deploy/ha/configure", name, "--machines", machines, "--passwords", passwords, "--root", root,
                            "--certificates", self.certificates, "--user", owner, "--etcd-user", owner, "--data", f"{root}/data"],
                           check=True, stdout=subprocess.DEVNULL)
            if user:
                for folder in (root, f"{root}/etc", f"{root}/etc/patroni"):
                    shutil.chown(folder, user["user"], user["group"])
            self.machines[name] = Machine(name, root, user)
        with open(passwords) as file:
            self.password = dict(line.split() for line in file)["dove"]
        for machine in self.machines.values():
            machine.start()
        self.primary(90)
        until(lambda: self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "postgres") == [["1"]], 90,
              "a synchronous standby")
        return self

    def __exit__(self, *_):
        for machine in self.machines.values():
            machine.end()
        return False

    def url(self, _port=None):
        hosts = ",".join(f"127.0.0.1:{base + 2}" for base in self.bases.values())
        return f"postgres://dove:{self.password}@{hosts}/dove?sslmode=verify-full&sslrootcert={self.ca}"

    def psql(self, name, sql, database="dove", role="dove", password=None, mode="verify-full"):
        return subprocess.run(
            [f"{programs()}/psql", "-X", "-A", "-t", "-w", "-F", "\t", "-h", "127.0.0.1", "-p", str(self.bases[name] + 2), "-U", role,
             "-d", database, "-c", sql], capture_output=True, text=True, timeout=20,
            env={"PGPASSWORD": password or self.password, "PGCONNECT_TIMEOUT": "3", "PGSSLMODE": mode, "PGSSLROOTCERT": self.ca})

    def ask(self, *what):
        done = self.psql(*what)
        return [line.split("\t") for line in done.stdout.splitlines()] if done.returncode == 0 else None

    def primary(self, limit_s=60):
        def found():
            return next((name for name in NAMES if self.ask(name, "SELECT pg_is_in_recovery()") == [["f"]]), None)
        return until(found, limit_s, "a primary")

    def watch(self, but):
        """Begins to look at the machines except `but`; what it returns waits for the moment at which one of them has taken a
        write, and tells which that is."""
        self.sql("CREATE TABLE IF NOT EXISTS written (at timestamptz); GRANT ALL ON written TO dove")
        stops, done, taken = threading.Event(), threading.Event(), []

        def look(name):
            while not stops.wait(0.1):
                try:
                    if self.ask(name, "INSERT INTO written VALUES (now())") is not None:
                        taken.append((time.monotonic(), name))
                        return done.set()
                except subprocess.TimeoutExpired:
                    pass  # its commit waits for a second machine

        threads = [threading.Thread(target=look, args=(name,)) for name in NAMES if name != but]
        for thread in threads:
            thread.start()

        def wait(limit_s):
            found = done.wait(limit_s)
            stops.set()
            for thread in threads:
                thread.join(30)
            if not found:
                raise TimeoutError(f"after {limit_s} s no machine takes a write")
            return min(taken)

        return wait

    def sql(self, text, database="dove"):
        with open(os.path.join(self.folder, "passwords")) as file:
            password = dict(line.split() for line in file)["postgres"]
        return self.ask(self.primary(), text, database, "postgres", password)


class Kept(Controllers):
    """Controllers that are started again when they end, as their units do."""

    def __init__(self, **more):
        super().__init__(**more)
        self.postgres = Patroni(self.folder)
        self.stops = threading.Event()
        self.off = None  # a controller whose machine is down
        self.thread = threading.Thread(target=self.start_again, daemon=True)

    def start_server(self):
        super().start_server()
        self.thread.start()

    def start_again(self):
        while not self.stops.wait(0.2):
            for one in self.controllers:
                if one is not self.off and one.process and one.process.poll() is not None:
                    one.start()

    def stop(self):
        self.stops.set()
        if self.thread.is_alive():
            self.thread.join(10)
        super().stop()
        self.postgres.__exit__()


class Ha(unittest.TestCase):
    def begin(self, cluster):
        """A task that lasts, and the file that counts its starts."""
        self.assertNotIn("warning", cluster.wait_leader().ask("/readyz")[1], "nothing can be lost")
        mark = os.path.join(cluster.folder, "long")
        long = cluster.submit({"name": "long", "command": ["/bin/sh", "-c", f"echo $$ >> {mark}; sleep 1000"]})
        cluster.wait_state(long, "running")
        until(lambda: os.path.exists(mark), 20, "the task's file")
        return long, mark

    def end_primary(self, cluster, submissions, and_also=lambda: None):
        """Ends the machine of the primary under submissions, and checks how long they waited."""
        until(lambda: len(submissions.ids) > 30 or submissions.failed, 60, "some jobs")
        before = cluster.postgres.primary()
        machine = cluster.postgres.machines[before]
        wait = cluster.postgres.watch(before)
        ended = time.monotonic()
        and_also()
        machine.end()
        taken, after = wait(90)
        self.assertNotEqual(after, before)
        count = len(submissions.ids)
        until(lambda: len(submissions.ids) > count + 30 or submissions.failed, 90, "more jobs")
        self.assertEqual(submissions.failed, [])
        gap_s, patroni_s = gap_around([submissions], ended), taken - ended
        print(f"writes waited {gap_s:.1f} s; {after} took one {patroni_s:.1f} s after the end of {before}; ttl {machine.ttl_s} s")
        self.assertLessEqual(gap_s, max(machine.ttl_s, patroni_s) + 2)
        return machine

    def check(self, cluster, submissions, long, mark):
        self.assertEqual(submissions.failed, [])
        for number, job in enumerate(submissions.ids):
            self.assertEqual(cluster.wait(job, 120)["state"], "completed")
            with open(f"{submissions.out}/{number}") as file:
                self.assertEqual(len(file.read().split()), 1, f"job {job} ran once")
        self.assertEqual(len(set(submissions.ids)), len(submissions.ids))
        self.assertEqual(cluster.job(long)["state"], "running")
        with open(mark) as file:
            self.assertEqual(len(file.read().split()), 1, "its task went on")
        self.assertEqual(cluster.postgres.sql(LATE), [["0"]])

    def check_strangers(self, ha):
        """Connections without TLS are refused, and to what is for the machines alone those without their certificate."""
        for name in NAMES:
            plain = ha.psql(name, "SELECT 1", mode="disable")
            self.assertNotEqual(plain.returncode, 0)
            self.assertIn("no encryption", plain.stderr)
        self.assertEqual(ha.sql("SELECT DISTINCT backend_type, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                                "WHERE client_addr IS NOT NULL ORDER BY 1", "postgres"),
                         [["client backend", "t"], ["walsender", "t"]])
        stranger = ssl.create_default_context(cafile=ha.ca)
        member = ssl.create_default_context(cafile=ha.ca)
        member.load_cert_chain(f"{ha.certificates}/db2.pem", f"{ha.certificates}/db2.key")
        for port, path in ((ha.bases["db1"], "/version"), (ha.bases["db1"] + 3, "/patroni")):
            def get(scheme, context=None):
                with urllib.request.urlopen(f"{scheme}://127.0.0.1:{port}{path}", timeout=10, context=context) as answer:
                    return answer.status
            self.assertEqual(get("https", member), 200)
            for how in (("http",), ("https", stranger)):
                try:
                    said = get(*how)
                except urllib.error.HTTPError as error:  # an OSError, and an answer
                    said = error.code
                except (OSError, http.client.HTTPException):
                    continue
                self.fail(f"port {port} answered {how[0]} with {said}")

        def first_of_peers(context):
            with socket.create_connection(("127.0.0.1", ha.bases["db1"] + 1), 10) as line:
                with context.wrap_socket(line, server_hostname="127.0.0.1") as safe:
                    safe.sendall(b"GET /members HTTP/1.0\r\n\r\n")
                    return safe.recv(12)
        self.assertEqual(first_of_peers(member), b"HTTP/1.0 200")
        try:
            said = first_of_peers(stranger)
        except OSError:
            said = b""
        self.assertEqual(said, b"")

    def test_the_machine_of_the_primary_ends(self):
        with Kept(count=2, nodes=2) as cluster:
            self.check_strangers(cluster.postgres)
            long, mark = self.begin(cluster)
            with Submissions(cluster, timeout=0.5) as submissions:
                self.end_primary(cluster, submissions)
            self.check(cluster, submissions, long, mark)

    def test_the_machines_of_the_leader_and_of_the_primary_end_together(self):
        with Kept(count=2, nodes=2) as cluster:
            long, mark = self.begin(cluster)
            leader = cluster.wait_leader()

            def end_leader():
                cluster.off = leader
                leader.kill()

            with Submissions(cluster, timeout=0.5) as submissions:
                machine = self.end_primary(cluster, submissions, end_leader)
                cluster.wait_leader(but=leader.number)
                machine.start()
                leader.start()
                cluster.off = None
                until(lambda: "standby of" in leader.ask("/readyz")[1], 60, "the former leader to stand by")
                until(lambda: cluster.postgres.sql("SELECT count(*) FROM pg_stat_replication", "postgres") == [["2"]], 120,
                      "the former primary to follow")
            self.check(cluster, submissions, long, mark)


if __name__ == "__main__":
    why = missing() or next((f"there is no {name} (tools/setup ha)" for name in ("patroni", "etcd", "openssl") if not shutil.which(name)), None)
    if why:
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main()
