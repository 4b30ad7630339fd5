"""A job's saved work: written whole or not at all, found again by its next attempt.

    saved = checkpoint.latest()
    first = saved.step + 1 if saved else 0
    for n in range(first, steps):
        ...
        if checkpoint.due(every_s=600):
            checkpoint.save(n, lambda file: torch.save(state, file))
    checkpoint.wait()

Each checkpoint is a directory of DOVE_CHECKPOINT_DIR, of each part (a rank that saves its own) a file and a manifest
with its size and SHA-256, which comes last: what has no manifest, or another content, is no checkpoint. With
DOVE_CHECKPOINT_STAGE, a directory on the node's own disk, save() comes back when the part is there and a thread copies
it. Only whole checkpoints are counted as saved work, are told to the controller, and outlive prune.
"""
import atexit
import contextlib
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import threading
import time
import urllib.request

_NAME = re.compile(r"step-(\d{12})")
_PIECE = 1 << 20

_asked = threading.Event()
_saved_at = time.monotonic()
_copies = None  # of (stage path, part's name, step, parts, keep)
_failure = None


class Saved:
    """A whole checkpoint: its step and where its parts are."""

    def __init__(self, step, folder):
        self.step, self.folder = step, folder

    def path(self, part=0):
        return os.path.join(self.folder, f"part-{part}")


def asked():
    """Whether the job was told to save its work, since it will be stopped (checkpoint_signal)."""
    return _asked.is_set()


def due(every_s):
    """Whether it is time to save: the job was told to, or the last save() is so long ago."""
    return asked() or time.monotonic() - _saved_at >= every_s


def latest():
    """The newest whole checkpoint, its content checked; None: there is none."""
    for step in sorted(_steps(), reverse=True):
        folder = _folder(step)
        if _is_whole(folder, checks=True):
            return Saved(step, folder)
    return None


def save(step, write, part=0, parts=1, keep=3):
    """Saves one part of `parts`: write(file) gets a binary file. Afterwards `keep` whole checkpoints are left."""
    global _saved_at
    _raise_failure()
    stage = os.environ.get("DOVE_CHECKPOINT_STAGE", "")
    name = f"part-{part}"
    if os.path.isdir(stage):
        wait()  # no more than one copy lies in the stage
        staged = os.path.join(stage, f"{step}-{name}")
        with open(staged, "wb") as file:
            write(file)
        _begin_copy((staged, name, step, parts, keep))
    else:
        with _fresh(step, name) as (file, temporary):
            write(file)
        _commit(temporary, step, name, parts, keep)
    _saved_at = time.monotonic()


def wait():
    """Until what save() has staged is where the next attempt finds it."""
    if _copies is not None:
        _copies.join()
    _raise_failure()


def _directory():
    path = os.environ.get("DOVE_CHECKPOINT_DIR", "")
    if not path:
        raise RuntimeError("DOVE_CHECKPOINT_DIR is not set: a job has it, elsewhere set it yourself")
    return path


def _folder(step):
    return os.path.join(_directory(), f"step-{step:012d}")


def _steps():
    try:
        names = os.listdir(_directory())
    except FileNotFoundError:
        return []
    return [int(found[1]) for found in map(_NAME.fullmatch, names) if found]


@contextlib.contextmanager
def _fresh(step, name):
    os.makedirs(_folder(step), exist_ok=True)
    temporary = os.path.join(_folder(step), f".{name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        yield file, temporary
        file.flush()
        os.fsync(file.fileno())


def _digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _commit(temporary, step, name, parts, keep):
    folder = _folder(step)
    # A part that is saved again has no manifest meanwhile: its old one describes other content.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, name + ".json"))
    manifest = {"step": step, "parts": parts, "bytes": os.path.getsize(temporary), "sha256": _digest(temporary)}
    os.rename(temporary, os.path.join(folder, name))
    _sync_directory(folder)
    with _fresh(step, name + ".json") as (file, fresh):
        file.write(json.dumps(manifest).encode())
    os.rename(fresh, os.path.join(folder, name + ".json"))
    _sync_directory(folder)
    _sync_directory(_directory())
    if _is_whole(folder, checks=False):
        _point_to(folder)
        _tell()
        _prune(step, keep)


def _is_whole(folder, checks):
    """Every part is there as its manifest says; with `checks` their content is read."""
    part, parts = 0, 1
    try:
        while part < parts:
            path = os.path.join(folder, f"part-{part}")
            with open(path + ".json", "rb") as file:
                manifest = json.loads(file.read(4096))
            parts = int(manifest["parts"])
            if os.path.getsize(path) != manifest["bytes"] or (checks and _digest(path) != manifest["sha256"]):
                return False
            part += 1
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def _point_to(folder):
    link = os.path.join(_directory(), "latest")
    fresh = f"{link}.{os.getpid()}.{threading.get_ident()}.tmp"
    os.symlink(os.path.basename(folder), fresh)
    os.rename(fresh, link)


def _prune(newest, keep):
    """Removes the checkpoints up to `newest` but the last `keep` whole ones; torn ones too."""
    whole = 0
    for step in sorted((step for step in _steps() if step <= newest), reverse=True):
        if whole < max(keep, 1):
            whole += _is_whole(_folder(step), checks=False)
        else:
            shutil.rmtree(_folder(step), ignore_errors=True)


def _tell():
    """What was done up to now is not lost when the job is stopped: as `dove checkpoint` says."""
    url, job, token = (os.environ.get(name) for name in ("DOVE_URL", "DOVE_JOB_ID", "DOVE_JOB_TOKEN"))
    if not (url and job and token):
        return
    request = urllib.request.Request(f"{url}/v1/jobs/{job}/checkpoint", data=b"{}", method="POST",
                                     headers={"Authorization": "Bearer " + token,
                                              "Content-Type": "application/json"})
    with contextlib.suppress(OSError):  # only what a preemption costs is estimated from it
        urllib.request.urlopen(request, timeout=5).close()


def _begin_copy(copy):
    global _copies
    if _copies is None:
        _copies = queue.Queue()
        threading.Thread(target=_copy_all, daemon=True).start()
        atexit.register(_copies.join)
    _copies.put(copy)


def _copy_all():
    global _failure
    while True:
        staged, name, step, parts, keep = _copies.get()
        try:
            with open(staged, "rb") as source, _fresh(step, name) as (file, temporary):
                shutil.copyfileobj(source, file, _PIECE)
            _commit(temporary, step, name, parts, keep)
            os.unlink(staged)
        except OSError as error:
            _failure = error
        finally:
            _copies.task_done()


def _raise_failure():
    global _failure
    failure, _failure = _failure, None
    if failure is not None:
        raise failure


def _listen():
    number = os.environ.get("DOVE_CHECKPOINT_SIGNAL", "")
    if number.isdigit() and int(number) > 0 and threading.current_thread() is threading.main_thread():
        signal.signal(int(number), lambda *_: _asked.set())


_listen()
