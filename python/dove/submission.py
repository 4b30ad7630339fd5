"""What a caller gives, as the body of POST /v1/jobs: a command, a job file, or the fields themselves."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing

from dove.endpoint import Endpoint
from dove.errors import DoveError

What = typing.Union[typing.Mapping[str, typing.Any], typing.Sequence[str], str, "os.PathLike[str]"]

_FILE_BYTES_MAX = 8 << 20
_PROGRAM_S = 60


def read(what: What, options: dict[str, typing.Any], endpoint: Endpoint) -> tuple[dict[str, typing.Any], list[str]]:
    """(the fields of the job, warnings of its file). `options` go before what the file or the mapping says.

    Raises DoveError with the file's place when it cannot be read; the server checks the fields.
    """
    check_not_in_main()
    if callable(what):
        raise TypeError("submit() takes a command, a job file or its fields, not a function: dove.map(function, items) "
                        "and dove.Executor run functions")
    if isinstance(what, typing.Mapping):
        return {**what, **options}, []
    if isinstance(what, (str, os.PathLike)):
        return _of_file(os.fspath(what), options, endpoint)
    command = [os.fspath(word) for word in what]
    if not command or not all(isinstance(word, str) for word in command):
        raise TypeError(f"a command is a list of strings, with a program, not {command!r}")
    fields: dict[str, typing.Any] = {"command": command}
    if name := os.path.basename(command[0]):
        fields["name"] = name
    return {**fields, **options}, []


def check_not_in_main() -> None:
    """Raises DoveError `main_guard` in a task that loads the script of its submitter: it would submit for ever."""
    if getattr(sys.modules.get("__mp_main__"), "__dove_loading__", False):
        raise DoveError("main_guard", "a task loads the script that submitted it, and that would submit again",
                        remedy="put what the script does below `if __name__ == \"__main__\":`")


def _of_file(path: str, options: dict[str, typing.Any], endpoint: Endpoint) -> tuple[dict[str, typing.Any], list[str]]:
    if not os.path.exists(path):
        remedy = "a command is a list of strings: " + json.dumps(path.split()) if " " in path else ""
        raise DoveError("cannot_read", f"{path}: no such file", path, remedy)
    if not path.endswith(".json"):
        return _by_program(path, options, endpoint)
    try:
        with open(path, "rb") as file:
            text = file.read(_FILE_BYTES_MAX + 1)
        fields = json.loads(text) if len(text) <= _FILE_BYTES_MAX else None
    except OSError as error:
        raise DoveError("cannot_read", f"{path}: {error.strerror}", path) from None
    except ValueError as error:
        raise DoveError("bad_json", f"{path}: {error}", path) from None
    if not isinstance(fields, dict):
        raise DoveError("wrong_type", f"{path}: a job is a map of fields, {_FILE_BYTES_MAX >> 20} MiB at most", path)
    return {"source_name": path, **fields, **options}, []


def _by_program(path: str, options: dict[str, typing.Any], endpoint: Endpoint) -> tuple[dict[str, typing.Any], list[str]]:
    """`dove` reads the other formats: tuxiv.conf, sbatch scripts, YAML, directories."""
    program = shutil.which("dove")
    if program is None:
        raise DoveError("no_program", f"the program `dove` reads {path}, and is not in PATH", path,
                        "add its directory to PATH, or give the fields of the job as a dict")
    own = {"DOVE_URL": endpoint.url, "DOVE_TOKEN": endpoint.token, "DOVE_CA_FILE": endpoint.ca_file,
           "DOVE_INSECURE": "1" if endpoint.insecure else ""}
    sets = [f"--set={name}={json.dumps(value)}" for name, value in options.items()]
    try:
        done = subprocess.run([program, "submit", "--dry-run", "-o", "json", *sets, path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=_PROGRAM_S, check=False,
                              env={**os.environ, **{name: value for name, value in own.items() if value}})
    except subprocess.TimeoutExpired:
        raise DoveError("timeout", f"{program} did not read {path} within {_PROGRAM_S} s", path) from None
    said = done.stderr.strip()
    if done.returncode != 0:
        raise DoveError("bad_job_file", said or f"{program} ended with exit code {done.returncode}", path)
    return json.loads(done.stdout), said.splitlines()

