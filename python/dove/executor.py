"""Calls of functions as jobs, in the form of concurrent.futures.

    with dove.Executor(gpus=1, time_limit="1h") as executor:
        futures = [executor.submit(train, rate, layers=4) for rate in (0.1, 0.01)]
        print([future.result() for future in futures])

submit() makes a job of each call: for many calls of one function, map() makes one array.
"""
from __future__ import annotations

import concurrent.futures
import sys
import threading
import time
import typing

from dove import array_map
from dove.array_map import Results
from dove.client import Client
from dove.errors import DoveError

_LOOK_S = 0.3
_IDS_MAX = 200  # of one question


class _Spread:
    """A function of several arguments as one of a tuple of them."""

    def __init__(self, function: typing.Callable[..., typing.Any]) -> None:
        self._function = function

    def __call__(self, arguments: tuple) -> typing.Any:
        return self._function(*arguments)


def _call(call: tuple[typing.Callable[..., typing.Any], tuple, dict[str, typing.Any]]) -> typing.Any:
    function, arguments, named = call
    return function(*arguments, **named)


class Executor(concurrent.futures.Executor):
    """Runs each call as a job with these fields, and with folder, python and environment as dove.map() takes them.

    A future can be cancelled until it has its result: its job is cancelled, too. The exception of a future is a
    TaskError, whose __cause__ is what the function raised. What still runs when the program ends is cancelled.
    """

    def __init__(self, *, client: Client | None = None, folder: str = "", python: str = "",
                 **fields: typing.Any) -> None:
        self._client = client or Client()
        self._options = {"client": self._client, "folder": folder, "python": python, **fields}
        self._changed = threading.Condition()
        self._pending: list[tuple[concurrent.futures.Future, Results]] = []
        self._watcher: threading.Thread | None = None
        self._is_shut = False

    def submit(self, fn: typing.Callable[..., typing.Any], /, *args: typing.Any,
               **kwargs: typing.Any) -> concurrent.futures.Future:
        """A job for fn(*args, **kwargs). Raises what dove.map() raises."""
        self._check_open()
        name = "call-" + getattr(fn, "__name__", type(fn).__name__).strip("<>")
        results = array_map.map(_call, [(fn, args, kwargs)], **{"name": name, **self._options})
        future: concurrent.futures.Future = concurrent.futures.Future()
        with self._changed:
            self._pending.append((future, results))
            self._changed.notify_all()
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="dove.Executor", daemon=True)
                self._watcher.start()
        return future

    def map(self, fn: typing.Callable[..., typing.Any], *iterables: typing.Iterable[typing.Any],
            timeout: float | None = None, chunksize: int = 1) -> typing.Iterator[typing.Any]:
        """fn of the items of each iterable, as an array of jobs with `chunksize` items each, 1000 of them at most."""
        self._check_open()
        deadline = None if timeout is None else time.monotonic() + timeout
        results = array_map.map(_Spread(fn), zip(*iterables), chunk=chunksize if chunksize > 1 else 0,
                                **{"name": "map-" + getattr(fn, "__name__", "call").strip("<>"), **self._options})

        def in_order() -> typing.Iterator[typing.Any]:
            with results:
                for _ in range(len(results)):
                    yield results.next(None if deadline is None else max(deadline - time.monotonic(), 0))

        return in_order()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No further calls; with `wait` until all futures have their results."""
        with self._changed:
            self._is_shut = True
            self._changed.notify_all()
            pending, watcher = list(self._pending), self._watcher
        if cancel_futures:
            for future, _ in pending:
                future.cancel()
        if wait and watcher is not None:
            watcher.join()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: typing.Any) -> None:
        self.shutdown(wait=True, cancel_futures=isinstance(error, KeyboardInterrupt))

    def _check_open(self) -> None:
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._pending:
                    if self._is_shut:
                        return
                    self._changed.wait()
                pending = list(self._pending)
            try:
                over = self._over([results for future, results in pending if not future.cancelled()])
                settled = [entry for entry in pending if _settle(*entry, over)]
            except Exception as error:  # no server any more: nobody else would tell the futures
                settled = [entry for entry in pending if _fail(*entry, error)]
            with self._changed:
                self._pending = [entry for entry in self._pending if entry not in settled]
            if not settled:
                time.sleep(_LOOK_S)

    def _over(self, all_results: list[Results]) -> set[int]:
        """The ids of the arrays that have ended."""
        ids = [results.job.id for results in all_results if results.job is not None and not results.is_ready()]
        over: set[int] = set()
        for begin in range(0, len(ids), _IDS_MAX):
            page = self._client.api.pages("/v1/jobs", "jobs", ids=",".join(ids[begin:begin + _IDS_MAX]), state="ended")
            over |= {each["array"]["id"] for each in page if each["array"]}
        return over


def _settle(future: concurrent.futures.Future, results: Results, over: set[int]) -> bool:
    """Gives the future its result if there is one; says whether it has one, or was cancelled."""
    assert results.job is not None
    if not future.cancelled() and not results.is_ready() and int(results.job.id) not in over:
        return False
    if not future.set_running_or_notify_cancel():
        results.close()
        return True
    try:
        future.set_result(results.next())
    except Exception as error:  # the function's, or that of its job
        future.set_exception(error)
    return True


def _fail(future: concurrent.futures.Future, results: Results, error: Exception) -> bool:
    if not future.done() and future.set_running_or_notify_cancel():
        future.set_exception(error)
    try:
        results.close()
    except DoveError as late:
        print(f"dove: {late}", file=sys.stderr)
    return True
