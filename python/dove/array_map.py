"""A function over items, as an array of jobs.

    for length in dove.map(train, configurations, gpus=1, time_limit="2h"):
        print(length)

Function and items are put into a folder that submitter and nodes share, and each element of the array runs some of
them (dove.task). Results are read from there in the order of the items, one at a time. Whether an element goes on, is
run again on another node, or is lost, is the scheduler's to say: nothing here guesses from silence.
"""
from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import sysconfig
import tempfile
import time
import typing
import weakref

from dove import carried, submission, task
from dove.client import Client, Job
from dove.connection import Api
from dove.errors import DoveError, TaskError, TimedOut

_ELEMENTS_MAX = 1000  # unless the caller says how many items each has
_SEEN_S = 30.0  # within which a shared directory shows what was renamed there on another node
_LOOK_S = 0.1
_TAIL_LINES = 20
_LET_GO_S = 5.0


def map(function: typing.Callable[[typing.Any], typing.Any], items: typing.Iterable[typing.Any], *,
        client: Client | None = None, folder: str = "", chunk: int = 0, at_once: int = 0, python: str = "",
        return_exceptions: bool = False, **fields: typing.Any) -> Results:
    """Runs function(item) for each item in an array of jobs; gives the results in the order of the items.

    `fields` are those of each element's job, as in dove.submit(): gpus=1, cores=4, memory="16Gi", time_limit="1h",
    retries_max=2 (further attempts of what fails; after a lost node it is run again in any case), environment={...}.

    client   whose server; left out, the one that the command `dove` would find
    folder   a directory that this machine and the nodes share; else DOVE_MAP_DIR, or ~/.cache/dove/map
    chunk    items of each element; 0: so many that there are 1000 elements at most
    at_once  elements that may run at the same time; 0: as many as have room
    python   the interpreter of the tasks; left out, the path of this one

    In a container (container={"image": ...}) the folder is a volume, and the interpreter is the image's python3.

    The function and the items are pickled. Functions of modules are pickled by name, those of the script, of a notebook
    and lambdas with their code and the globals that they use (dove.carried). For a class of the script the task loads the
    script, which must then have its own `if __name__ == "__main__":`. Tasks run in this directory with this program's
    module paths, and with no other variables than `environment`.

    An item that raises is a TaskError when its place is reached: the rest is cancelled, or, with return_exceptions, it
    stands among the results. When nobody holds the results any more, or the program ends, or Ctrl-C is pressed while
    one is waited for, what still runs is cancelled. Raises DoveError `not_picklable`, `main_guard`, and what submit()
    raises.
    """
    submission.check_not_in_main()
    if not callable(function):
        raise TypeError(f"map() runs a function, not {function!r}")
    base = folder or os.environ.get("DOVE_MAP_DIR", "") or os.path.expanduser("~/.cache/dove/map")
    client = client or Client()
    try:
        os.makedirs(base, exist_ok=True)
        own = os.path.abspath(tempfile.mkdtemp(prefix="map-", dir=base))  # for this user alone
    except OSError as error:
        raise DoveError("cannot_write", f"{base}: {error.strerror}", base, "give map() a folder=") from None
    try:
        count, chunk = _write_work(own, function, items, chunk)
        array = _submit(client, function, own, -(-count // chunk), at_once, python, fields) if count else None
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise
    return Results(client.api, array, own, count, chunk, return_exceptions)


def _write_work(folder: str, function: typing.Any, items: typing.Iterable[typing.Any], chunk: int) -> tuple[int, int]:
    """Writes what the tasks read; gives back the number of items and that of a chunk."""
    text = carried.dumps(function)
    needs_main, count, offset = carried.names_main(text), 0, 0
    with open(os.path.join(folder, "function"), "wb") as file:
        file.write(text)
    with open(os.path.join(folder, "items"), "wb") as file, open(os.path.join(folder, "offsets"), "wb") as offsets:
        task.write_offset(offsets, 0)
        for item in items:
            text = carried.dumps(item)
            needs_main = needs_main or carried.names_main(text)
            offset += file.write(text)
            count += 1
            task.write_offset(offsets, offset)
    chunk = chunk if chunk > 0 else max(1, -(-count // _ELEMENTS_MAX))
    head = {"format": task.FORMAT, "items": count, "chunk": chunk, "path": _module_paths(),
            "main": carried.main_of_this() if needs_main else None}
    with open(os.path.join(folder, "head"), "w", encoding="utf-8") as out:
        json.dump(head, out)
    os.mkdir(os.path.join(folder, "results"))
    return count, chunk


def _module_paths() -> list[str]:
    """Where this program finds modules, but for what every interpreter has itself."""
    own = set(sysconfig.get_paths().values())
    own |= {os.path.join(path, "lib-dynload") for path in own}
    paths = [os.path.abspath(path) for path in sys.path if path not in own]
    return [path for path in paths if os.path.isdir(path)]


def _submit(client: Client, function: typing.Any, folder: str, elements: int, at_once: int, python: str,
            fields: dict[str, typing.Any]) -> Job:
    environment = dict(fields.pop("environment", None) or {})
    if "PYTHONPATH" in os.environ:  # where the package dove itself may be
        environment.setdefault("PYTHONPATH", os.environ["PYTHONPATH"])
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    place: dict[str, typing.Any] = {"workdir": os.getcwd()}
    if container := fields.pop("container", None):  # it has its own Python, directories, and nothing of this machine
        python = python or "python3"
        place = {"container": {**container, "volumes": [*(container.get("volumes") or []),
                                                        {"source": folder, "writable": True}]}}
    return client.submit({
        "name": f"map-{name}", "requeue": True, **place, **fields, "environment": environment,
        "command": [python or sys.executable, "-m", "dove.task", folder],
        "array": {"indices": f"0-{elements - 1}", "running_max": at_once}})


class Results(typing.Iterator[typing.Any]):
    """The results of map() in the order of the items; as a context it is closed in the end. `job` is the array.

    One thread at a time. len() is the number of items.
    """

    def __init__(self, api: Api, job: Job | None, folder: str, count: int, chunk: int, return_exceptions: bool) -> None:
        self.job = job
        self._api, self._folder, self._count, self._chunk = api, folder, count, chunk
        self._return_exceptions = return_exceptions
        self._next = 0
        self._file: typing.BinaryIO | None = None  # the outcomes of one element
        self._end = weakref.finalize(self, _let_go, api, job, folder, os.getpid())
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])  # where tasks have the script's classes
        if count == 0:
            self.close()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Results:
        return self

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> typing.Any:
        return self.next()

    def next(self, timeout: float | None = None) -> typing.Any:
        """The next result, waited for `timeout` seconds at most: then TimedOut, and it can be asked for again."""
        if not self._end.alive or self._next >= self._count:
            self.close()
            raise StopIteration
        try:
            value = self._outcome(None if timeout is None else time.monotonic() + timeout)
        except TimedOut:
            raise
        except BaseException:
            self.close()
            raise
        self._next += 1
        if self._next == self._count:
            self._done()
        elif self._next % self._chunk == 0 and self._file:
            self._file.close()
            self._file = None
        return value

    def close(self) -> None:
        """Cancels what still runs and removes the folder; there are no further results."""
        if self._file:
            self._file.close()
            self._file = None
        self._end()

    def _done(self) -> None:
        if self._end.detach():
            if self._file:
                self._file.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _outcome(self, deadline: float | None) -> typing.Any:
        element, place = divmod(self._next, self._chunk)
        if self._file is None:
            lost = self._open(element, deadline)
            if lost is not None:
                return self._judge(lost)
        assert self._file is not None
        is_good, text = pickle.load(self._file)
        return carried.loads(text) if is_good else self._judge(self._failure(element, carried.loads(text)))

    def _judge(self, error: TaskError) -> TaskError:
        if not self._return_exceptions:
            raise error from error.__cause__
        return error

    def _open(self, element: int, deadline: float | None) -> TaskError | None:
        """Waits for the outcomes of an element; gives back why there are none, for each of its items."""
        assert self.job is not None
        self._file = self._find(element, ("done",))
        if self._file is not None:
            return None
        job = Job(self._api, f"{self.job.id}_{element}")
        try:
            job.wait(None if deadline is None else max(deadline - time.monotonic(), 0))
        except TimedOut as error:
            raise TimedOut("timed_out", f"item {self._next} has no result yet: {error.message}") from None
        info = job.info()
        has_written = info["outcome"] == "completed" or info["exit_code"] == task.RAISED
        seen_by = time.monotonic() + (_SEEN_S if has_written else 0)
        while True:
            self._file = self._find(element, ("done", "failed"))
            if self._file is not None:
                return None
            if time.monotonic() >= seen_by:
                return _lost(job, info, self._next)
            time.sleep(_LOOK_S)
            # NFS asks the server anew for a directory that is opened; else it goes on not to know the name.
            os.close(os.open(os.path.join(self._folder, "results"), os.O_RDONLY))

    def is_ready(self) -> bool:
        """Whether the next result is there already, and went well; asks no server."""
        self._file = self._file or self._find(self._next // self._chunk, ("done",))
        return self._file is not None

    def _find(self, element: int, ends: tuple[str, ...]) -> typing.BinaryIO | None:
        results = os.path.join(self._folder, "results")
        for end in ends:
            try:
                return open(os.path.join(results, f"{element}.{end}"), "rb")
            except FileNotFoundError:
                pass
        return None

    def _failure(self, element: int, failure: dict[str, typing.Any]) -> TaskError:
        assert self.job is not None
        error = TaskError("task_raised", failure["message"], self._next, f"{self.job.id}_{element}", failure["node"],
                          failure["traceback"])
        if failure["exception"] is not None:
            try:
                error.__cause__ = carried.loads(failure["exception"])
            except Exception:  # what can be read there need not be here
                pass
        return error


def _lost(job: Job, info: dict[str, typing.Any], index: int) -> TaskError:
    """Why an element has no outcomes: how its last attempt ended, and what it said last."""
    attempts = info["attempts"]
    exits = attempts[-1]["exits"] if attempts else []
    words = [info["state"]]
    if info.get("start_failure"):
        words.append(info["start_failure"])
    for each in exits[:1]:
        words.append(f"signal {each['signal']}" if each["signal"] else f"exit code {each['exit_code']}")
        if each["cause"]:
            words.append(each["cause"])
    said = ""
    try:
        said = "\n".join(job.tail(_TAIL_LINES))
    except DoveError:  # it printed nothing, or its node is away
        pass
    node = info["nodes"][0] if info["nodes"] else ""
    return TaskError("task_lost", "its task ended without a result: " + ", ".join(words), index, job.id, node, said)


def _let_go(api: Api, job: Job | None, folder: str, owner: int) -> None:
    if os.getpid() != owner:  # a child that was forked has a copy
        return
    try:
        if job is not None:
            # With little patience: the program may be ending.
            Job(Api(api.endpoint, timeout_s=_LET_GO_S, patience_s=0), job.id).cancel()
    except DoveError as error:
        print(f"dove: job {job.id if job else ''} is not cancelled: {error}", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
