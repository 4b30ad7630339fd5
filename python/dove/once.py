"""Runs a command of a job's script once, however often the job is started again.

    python3 -m dove.once prepare -- python prepare.py --out data
    python3 -m dove.once train   -- python train.py

A command that ended well is remembered in DOVE_CHECKPOINT_DIR under its name, and is passed over by later attempts of
the job, unless it is another command by then. So a script of several steps goes on at the one that had not finished.
Each rank of a job with several keeps its own. What ended in the moment when the job was killed may run again. Ends as
the command did: with its exit code, or by its signal.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_USAGE = "usage: python3 -m dove.once NAME -- COMMAND [ARGUMENT...]"


def _say(text):
    print(f"dove.once: {text}", file=sys.stderr, flush=True)


def _note_of(name):
    """Where it is remembered that this rank has finished the command; None outside of jobs."""
    folder = os.environ.get("DOVE_CHECKPOINT_DIR", "")
    if not folder:
        return None
    rank = os.environ.get("RANK", "0") if os.environ.get("WORLD_SIZE", "1") != "1" else ""
    return os.path.join(folder, "once", f"{name}.{rank}" if rank else name)


def _is_finished(note, command):
    try:
        with open(note, encoding="utf-8") as file:
            return json.load(file) == command
    except (OSError, ValueError):
        return False


def _remember(note, command):
    os.makedirs(os.path.dirname(note), exist_ok=True)
    with open(note + ".new", "w", encoding="utf-8") as file:
        json.dump(command, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(note + ".new", note)


def _run(command):
    """As subprocess.call; signals that ask this process to end or to save its work reach the command."""
    child = None
    early = []  # before it was there

    def pass_on(number, _):
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    child = subprocess.Popen(command)
    for number in early:
        child.send_signal(number)
    return child.wait()


def main(arguments):
    if len(arguments) < 3 or arguments[1] != "--":
        _say(_USAGE)
        return 2
    name, command = arguments[0], arguments[2:]
    if not _NAME.fullmatch(name):
        _say(f"{name!r} is no name: write letters, digits, '.', '_' and '-', 64 at most")
        return 2
    note = _note_of(name)
    if note is None:
        _say("DOVE_CHECKPOINT_DIR is not set, so nothing is remembered")
    elif _is_finished(note, command):
        _say(f"{name} has finished before")
        return 0
    try:
        ended = _run(command)
    except OSError as error:
        _say(f"{command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    if ended < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
        return 128 - ended  # where that signal does not end a process
    if ended == 0 and note is not None:
        try:
            _remember(note, command)
        except OSError as error:
            _say(f"{name} has finished, but {error.filename}: {error.strerror}: it will run again")
    return ended


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
