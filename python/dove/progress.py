"""How far this task is: shown by `dove show` and /metrics, and what slow and hung ranks are found by.

    for n, batch in enumerate(batches):
        loss = train(batch)
        with progress.waiting():
            all_reduce(gradients)
        progress.step(n, loss=loss)

Writes one short line over the former one into the file named by DOVE_PROGRESS; never fails, never blocks.
"""
import contextlib
import os
import time

_WIDTH = 256  # of the line with its padding, so that a shorter one covers a longer one

_BLAMED_MAX = 8

_said = ""  # the last line, without its phase and what is blamed
_blamed = []
_phase = ""
_file = None  # its descriptor; -1: nobody listens
_last = time.monotonic()
_waited = 0.0


def _descriptor():
    global _file
    if _file is None:
        path = os.environ.get("DOVE_PROGRESS", "")
        rank = os.environ.get("RANK", "")
        if path and rank.isdigit():  # torchrun's workers have ranks of their own
            path = path.rpartition(".")[0] + "." + rank
        try:
            _file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600) if path else -1
        except OSError:
            _file = -1
    return _file


@contextlib.contextmanager
def waiting():
    """Time in this block is spent waiting for other ranks, and does not make this one slow."""
    global _waited
    begin = time.monotonic()
    _write(_said, "wait")  # who does not say so when all are silent is the one that hangs
    try:
        yield
    finally:
        _waited += time.monotonic() - begin
        _write(_said, _phase)


def _write(said, phase):
    blamed = f" blamed={','.join(map(str, _blamed))}" if _blamed else ""
    line = f"{said} phase={phase}{blamed}\n".encode()
    with contextlib.suppress(OSError):
        if said and _descriptor() >= 0 and len(line) <= _WIDTH:
            os.pwrite(_file, line.ljust(_WIDTH), 0)


def step(number, seconds=None, wait=None, samples=None, loss=None, phase=None):
    """Step `number` is done. Left out, `seconds` is the time since the step before, `wait` that in waiting()."""
    global _last, _waited, _said, _phase
    now = time.monotonic()
    words = [f"step={int(number)}", f"seconds={now - _last if seconds is None else float(seconds):.6f}",
             f"wait={_waited if wait is None else float(wait):.6f}"]
    if samples is not None:
        words.append(f"samples={int(samples)}")
    if loss is not None:
        words.append(f"loss={float(loss):.6g}")
    _last, _waited = now, 0.0
    _said, _phase = " ".join(words), "" if phase is None else str(phase)
    _write(_said, _phase)


def collective_failed(*peers):
    """A collective with these ranks failed or timed out: a vote against the network between their nodes and this one."""
    global _said
    for peer in peers:
        if int(peer) not in _blamed and int(peer) >= 0:
            _blamed.append(int(peer))
    del _blamed[:-_BLAMED_MAX]
    _said = _said or "step=0"
    _write(_said, _phase)
