#!/usr/bin/env python3
"""Schemathesis makes requests of what api/openapi.yaml allows, and of what it does not, for every operation: the server
answers none with a 5xx, none with a status or a content that the document does not name, and each answer as its schema
says. The seed and the number of requests are fixed; it takes about two minutes.

Schemathesis comes from PyPI into an environment of its own, kept below ~/.cache/dove. Skips where it cannot be had.
"""
# limit_s: 400
import os
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e")]
from cluster import SKIP, Cluster  # noqa: E402

VERSION = "4.32.5"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = 120
EXAMPLES = 20
# What would go on without an end gets parameters with which it ends: a log is not followed, a list waits for a change for a
# second and not for five minutes. The job that is waited for is over, whatever it is waited for until.
LISTS = ("listJobs", "listNodes", "listPools", "listQueues", "listApps", "listObjects", "readLog")
GIVEN = {"readJobLog": {"query.follow": "0"}, "waitForJob": {"path.id": "1"}, **{name: {"query.wait_s": "1"} for name in LISTS}}


def program():
    """The program of an environment that has this version, made when missing; "" when it cannot be had."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "dove", "schemathesis-" + VERSION)
    found = os.path.join(folder, "bin/schemathesis")
    if os.path.exists(os.path.join(folder, "done")):
        return found
    venv.create(folder, with_pip=True, clear=True)
    done = subprocess.run([os.path.join(folder, "bin/pip"), "install", "--quiet", "--disable-pip-version-check",
                           "schemathesis==" + VERSION], capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        print(done.stderr[-2000:])
        return ""
    open(os.path.join(folder, "done"), "w").close()
    return found


def main():
    schemathesis = program()
    if not schemathesis:
        print("skipped: schemathesis cannot be installed from PyPI")
        return SKIP
    with Cluster(nodes=1, cores=4, gpus=1) as cluster:
        over = cluster.submit({"name": "over", "command": ["true"]})
        cluster.wait(over)
        cluster.submit({"name": "kept", "command": ["sleep", "1000"]})
        token = cluster.api.headers["Authorization"]
        config = os.path.join(cluster.folder, "schemathesis.toml")
        with open(config, "w") as file:
            for operation, given in GIVEN.items():
                parameters = ", ".join(f'"{name}" = "{value}"' for name, value in given.items())
                file.write(f'[[operations]]\ninclude-operation-id = "{operation}"\nparameters = {{ {parameters} }}\n')
        done = subprocess.run(
            [schemathesis, "--config-file", config, "run", os.path.join(ROOT, "api/openapi.yaml"), "--url", cluster.url, "--header",
             "Authorization: " + token, "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples",
             str(EXAMPLES), "--seed", "1", "--max-time", str(SECONDS),
             "--request-timeout", "20", "--continue-on-failure", "--no-color"],
            cwd=cluster.folder, env=cluster.environment, capture_output=True, text=True, timeout=SECONDS + 120)
        # What is wrong stands before pages of hints.
        found = done.stdout.find("= FAILURES =")
        found = found if found >= 0 else done.stdout.find("= ERRORS =")
        print(done.stdout[max(found, 0):][:6000] if done.returncode else done.stdout[-2000:])
        print(done.stderr[-2000:], file=sys.stderr)
        cluster.api.call("GET", "/healthz")
        return done.returncode


sys.exit(main())
