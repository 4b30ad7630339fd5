"""A PostgreSQL of a test's own: a directory of its own, a port of loopback, ended by its own pid.

    with Postgres(folder) as postgres:
        postgres.url("dove")

Standard library only. missing() says why it cannot run here; None: it can.
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import time

from ports import free_port


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


def missing():
    return None if programs() else "PostgreSQL is missing (tools/setup test)"


class Postgres:
    def __init__(self, folder, settings=()):
        self.folder, self.settings = os.path.join(folder, "postgres"), settings
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.process = self.replica = None
        self.user = {}

    def __enter__(self):
        os.makedirs(self.folder)
        if os.geteuid() == 0:  # which PostgreSQL refuses to run as
            nobody = pwd.getpwnam("nobody")
            os.chmod(os.path.dirname(self.folder), 0o755)
            shutil.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        subprocess.run([f"{programs()}/initdb", "--no-sync", "-A", "trust", "-U", "dove", "--locale=C", "-E", "UTF8",
                        "-D", self.data], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.user)
        self.start()
        self.sql("CREATE DATABASE dove", database="postgres")
        return self

    def start(self):
        self.process = self.serve(self.data, self.port)

    def serve(self, data, port):
        options = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={self.folder}",
                   *self.settings]
        with open(os.path.join(self.folder, "server.log"), "ab") as log:
            process = subprocess.Popen(
                [f"{programs()}/postgres", "-D", data, *(word for each in options for word in ("-c", each))],
                stderr=log, stdout=log, cwd="/", **self.user)
        deadline = time.monotonic() + 60
        while subprocess.run([f"{programs()}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)],
                             check=False).returncode != 0:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start; see {self.folder}/server.log")
            time.sleep(0.05)
        return process

    def add_replica(self):
        """From now on a commit waits until a second PostgreSQL has it on its disk, too."""
        data = os.path.join(self.folder, "replica")
        subprocess.run([f"{programs()}/pg_basebackup", "--no-sync", "-c", "fast", "-R", "-h", "127.0.0.1", "-p",
                        str(self.port), "-U", "dove", "-D", data], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.user)
        self.replica = self.serve(data, free_port())
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", database="postgres")
        self.sql("SELECT pg_reload_conf()", database="postgres")
        deadline = time.monotonic() + 60
        while self.sql("SELECT sync_state FROM pg_stat_replication", database="postgres") != [["sync"]]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no synchronous replica; see {self.folder}/server.log")
            time.sleep(0.05)

    def stop(self, how=signal.SIGQUIT):
        """SIGQUIT is as a crash for whoever is connected."""
        self.process.send_signal(how)
        self.process.wait(30)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        if self.replica:
            self.replica.send_signal(signal.SIGQUIT)
            self.replica.wait(30)
        return False

    def url(self, port=None):
        return f"postgres://dove@127.0.0.1:{port or self.port}/dove"

    def sql(self, text, database="dove"):
        """Rows as lists of text."""
        done = subprocess.run([f"{programs()}/psql", "-X", "-q", "-A", "-t", "-F", "\t", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", "dove", "-d", database, "-c", text],
                              check=True, capture_output=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines()]
