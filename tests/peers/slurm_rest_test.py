#!/usr/bin/env python3
# limit_s: 600
"""The suite of dove slurm beside a real Slurm (slurm_adapter_test.py), with looks through a real slurmrestd: by its Unix
socket, and by TCP with a token.

Skips where Slurm or slurmrestd (tools/setup peers, as root) is missing.
"""
import os
import shutil
import subprocess
import sys
import unittest

import slurm_adapter_test
from cluster import SKIP, until
from ports import free_port
from slurm_lab import SlurmLab, available

JWT = "/usr/lib/x86_64-linux-gnu/slurm-wlm/auth_jwt.so"


class RestLab(SlurmLab):
    """It runs as a user without rights in Slurm: who looks needs none."""

    def write_config(self):
        super().write_config()
        if os.path.exists(JWT):
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
            if os.path.exists(JWT):
                self.start_rest(f"127.0.0.1:{self.port}", SLURM_JWT="daemon")
            until(lambda: os.path.exists(self.socket), 20, "slurmrestd")
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_rest(self, place, **more):
        with open(f"{self.folder}/log/slurmrestd", "ab") as out:
            self.processes.append(subprocess.Popen(
                [shutil.which("slurmrestd"), "-s", "openapi/v0.0.38", place], env={**self.environment, **more},
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, user="nobody", group="nogroup", extra_groups=[],
                cwd="/"))
        return self.processes[-1]


class BySocket(slurm_adapter_test.Adapter):
    make_lab = staticmethod(lambda: RestLab(nodes=6, cpus=4, gpus=4))

    def adapter_options(self):
        return ["--rest", f"unix:{self.lab.socket}"]

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


@unittest.skipUnless(os.path.exists(JWT), "Slurm has no tokens here (slurm-wlm-jwt-plugin)")
class ByToken(slurm_adapter_test.Bed):
    make_lab = staticmethod(lambda: RestLab(nodes=1, cpus=4, gpus=2))

    def adapter_options(self):
        self.token = self.folder + "/token"
        self.write_token("nobody")
        return ["--rest", f"http://127.0.0.1:{self.lab.port}", "--rest-token-file", self.token,
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


if __name__ == "__main__":
    if not available() or not shutil.which("slurmrestd"):
        print("no Slurm with slurmrestd here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
