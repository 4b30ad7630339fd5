#!/usr/bin/env python3
# limit_s: 900
# waits
"""The suite of dove slurm beside a real Slurm (slurm_adapter_test.py), with looks through a real slurmrestd: by its Unix
socket, and by TCP with a token; and with changes through it, also at the gate.

Skips where Slurm or slurmrestd (tools/setup peers, as root) is missing.
"""
import datetime
import os
import shutil
import subprocess
import sys
import unittest

import slurm_adapter_test
import slurm_gate_test
from cluster import SKIP, until
from gate_lab import LUA, GateLab
from ports import free_port
from slurm_lab import NEWER, SlurmLab, available, plugin, program

JWT = plugin("auth_jwt")
LOADS = ["-s", "openapi/slurmctld", "-d", "v0.0.42"] if NEWER else ["-s", "openapi/v0.0.38"]


class RestLab(SlurmLab):
    """It runs as a user without rights in Slurm: who looks needs none."""

    def write_config(self):
        super().write_config()
        if JWT:
            key = self.folder + "/state/jwt_hs256.key"
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(os.urandom(32))
            with open(self.folder + "/slurm.conf", "a") as file:
                file.write(f"AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={key}\n")

    def __enter__(self):
        super().__enter__()
        try:
            os.mkdir(self.folder + "/rest")
            shutil.chown(self.folder + "/rest", "nobody")
            self.socket = self.folder + "/rest/socket"
            self.port = free_port()
            self.start_rest(f"unix:{self.socket}")
            if JWT:
                self.start_rest(f"127.0.0.1:{self.port}", SLURM_JWT="daemon")
            until(lambda: os.path.exists(self.socket), 20, "slurmrestd")
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_rest(self, place, **more):
        with open(f"{self.folder}/log/slurmrestd", "ab") as out:
            self.processes.append(subprocess.Popen(
                [self.program("slurmrestd"), *LOADS, place], env={**self.environment, **more},
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, user="nobody", group="nogroup", extra_groups=[],
                cwd="/"))
        return self.processes[-1]


class BySocket(slurm_adapter_test.Adapter):
    make_lab = staticmethod(lambda: RestLab(nodes=6, cpus=4, gpus=4))

    def adapter_options(self):
        return [*super().adapter_options(), "--rest", f"unix:{self.lab.socket}"]

    def test_slurmrestd_that_is_gone_ends_nothing(self):
        job = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(job)
        until(lambda: self.allocation(job), 10, "the report")
        rest = next(one for one in self.lab.processes if "unix:" in one.args[-1])
        self.lab.end(rest, 9)
        until(lambda: not self.controller.report()["complete"], 15, "a report that says it is not complete")
        self.assertIsNotNone(self.allocation(job))
        os.unlink(self.lab.socket)
        self.lab.start_rest(f"unix:{self.lab.socket}")
        until(lambda: self.controller.report()["complete"], 15, "slurmrestd to be back")
        self.lab.run(["scancel", str(job)])
        until(lambda: not self.allocation(job), 15, "its end")


@unittest.skipUnless(JWT, "Slurm has no tokens here (slurm-wlm-jwt-plugin)")
class ByToken(slurm_adapter_test.Bed):
    make_lab = staticmethod(lambda: RestLab(nodes=1, cpus=4, gpus=2))

    def adapter_options(self):
        self.token = self.folder + "/token"
        self.write_token("nobody")
        return [*super().adapter_options(), "--rest", f"http://127.0.0.1:{self.lab.port}", "--rest-token-file", self.token,
                "--rest-user", "nobody"]

    def write_token(self, user):
        with open(os.open(self.token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self.lab.run(["scontrol", "token", f"username={user}", "lifespan=600"]))

    def test_a_look_with_a_token_and_one_without(self):
        job = self.sbatch("--gres=gpu:1")
        self.running(job)
        until(lambda: self.allocation(job), 10, "the report")
        self.controller.want(slurm_adapter_test.wanted(17, "n0", [1]))
        self.assertEqual(self.placed(17, "n0")["devices"], [1])
        with open(self.token, "w") as file:
            file.write("no token")
        until(lambda: not self.controller.report()["complete"], 15, "a report that says it is not complete")
        self.assertIsNotNone(self.allocation(job))
        with open(f"{self.folder}/log/adapter") as log:
            self.assertNotIn("no token", log.read())
        self.write_token("nobody")
        until(lambda: self.controller.report()["complete"], 15, "the next token to be read")


@unittest.skipUnless(JWT, "Slurm has no tokens here (slurm-wlm-jwt-plugin)")
class Changes(ByToken):
    """With root's token slurmrestd also makes the changes that it can: no scancel is started."""

    def adapter_options(self):
        options = super().adapter_options()
        self.write_token("root")
        options[options.index("--rest-user") + 1] = "root"
        return [*options, "--rest-changes"]

    def start_adapter(self):
        tools = self.folder + "/tools"
        self.ran = tools + "/ran"
        os.makedirs(tools, exist_ok=True)
        for name in ("scancel", "scontrol"):
            with open(os.open(f"{tools}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755), "w") as file:
                file.write(f'#!/bin/sh\necho {name} "$@" >> {self.ran}\nexec {self.lab.commands}/{name} "$@"\n')
        with open(self.ran, "w"):
            pass
        path = self.lab.environment["PATH"]
        self.lab.environment["PATH"] = f"{tools}:{path}"
        try:
            super().start_adapter()
        finally:
            self.lab.environment["PATH"] = path

    def commands(self):
        with open(self.ran) as file:
            return file.read()

    test_a_look_with_a_token_and_one_without = None  # it is ByToken's

    def test_a_placeholder_is_extended_and_given_back_without_a_command(self):
        until_at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=10)
        one = slurm_adapter_test.wanted(17, "n0", [1], until=until_at.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.controller.want(one)
        placeholder = self.placed(17, "n0")["id"]
        limit = self.fields(placeholder)["TimeLimit"]
        later = until_at + datetime.timedelta(hours=2)
        self.controller.want({**one, "until": later.strftime("%Y-%m-%dT%H:%M:%SZ")})
        until(lambda: self.fields(placeholder)["TimeLimit"] != limit, 20, "another limit")
        self.controller.want()
        self.lab.until("squeue -h", lambda out: not out.strip())
        self.assertNotIn("scancel", self.commands())
        self.assertNotIn("TimeLimit", self.commands())
        self.assertIn("AdminComment", self.commands(), "which slurmrestd 22.05 does not know")

    @unittest.skipIf(NEWER, "slurmctld 24.11.5 answers nobody anymore after that")
    def test_a_token_without_rights_changes_nothing_and_is_said(self):
        self.controller.want(slurm_adapter_test.wanted(17, "n0", [1], user=""))
        placeholder = self.placed(17, "n0")["id"]
        self.end_adapter()
        options = self.adapter_options()
        self.write_token("nobody")
        options[options.index("--rest-user") + 1] = "nobody"
        self.adapter_options = lambda: options
        self.controller.want()
        self.start_adapter()

        def is_said():
            with open(f"{self.folder}/log/adapter") as log:
                return "does not cancel job" in log.read()
        until(is_said, 20, "the refusal to be logged")
        self.assertIn((placeholder, "dove-17.1@dove"), self.jobs("running"))


@unittest.skipUnless(JWT and LUA, "Slurm has no tokens, or no Lua, here")
class GateByRest(slurm_gate_test.Gate):
    """The gate where jobs are let go, commented and cancelled through slurmrestd."""

    lab_class = type("RestGateLab", (RestLab, GateLab), {})

    @classmethod
    def adapter_options(cls):
        token = cls.lab.folder + "/token"
        with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(cls.lab.run(["scontrol", "token", "username=root", "lifespan=3600"]))
        return [*super().adapter_options(), "--rest", f"http://127.0.0.1:{cls.lab.port}", "--rest-token-file", token,
                "--rest-changes"]


KEPT = ("test_a_job_starts_in_the_place_that_the_ledger_gave_and_ends", "test_an_array", "test_cancelled_in_the_ledger_while_it_runs",
        "test_a_job_waits_with_our_words_until_there_is_room", "test_a_users_hold_and_release")
for inherited in [name for name in dir(slurm_gate_test.Gate) if name.startswith("test_") and name not in KEPT]:
    setattr(GateByRest, inherited, None)
del inherited

if __name__ == "__main__":
    if not available() or not program("slurmrestd"):
        print("no Slurm with slurmrestd here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
