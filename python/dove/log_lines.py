"""The lines that a task printed, as they come; the server and its connection to the node may go away meanwhile."""
from __future__ import annotations

import codecs
import typing

from dove.connection import Api, path_with
from dove.errors import ApiError, Unreachable

_SILENCE_S = 60.0  # of a log that is followed; then the server is asked again
_LINE_CHARACTERS_MAX = 1 << 20


class _Splitter:
    """Bytes in, lines without their ends out. A line over 1 Mi characters comes in several."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, piece: bytes, final: bool = False) -> typing.Iterator[str]:
        *whole, self._rest = (self._rest + self._decoder.decode(piece, final)).split("\n")
        yield from whole
        if self._rest and (final or len(self._rest) > _LINE_CHARACTERS_MAX):
            yield self._rest
            self._rest = ""


def read_lines(api: Api, job: str, rank: int, attempt: int | None, is_stderr: bool,
               tail: int | None = None) -> typing.Iterator[str]:
    """What is there now. Raises ApiError `job_not_started`, `never_started`, `no_such_task`, `node_unreachable`."""
    yield from _lines(api, job, rank, attempt, is_stderr, is_over=lambda: True, tail=tail)


def follow_lines(api: Api, job: str, rank: int, attempt: int, is_stderr: bool,
                 is_over: typing.Callable[[], bool]) -> typing.Iterator[str]:
    """Until the attempt is over: `is_over` says so when the stream ends."""
    yield from _lines(api, job, rank, attempt, is_stderr, is_over, follow=1)


def _lines(api: Api, job: str, rank: int, attempt: int | None, is_stderr: bool, is_over: typing.Callable[[], bool],
           follow: int | None = None, tail: int | None = None) -> typing.Iterator[str]:
    splitter, offset, patience = _Splitter(), 0, api.patience()
    while True:
        before = offset
        over_before = follow is not None and is_over()  # all that it printed comes behind this
        target = path_with(f"/v1/jobs/{job}/logs", {
            "rank": rank, "attempt": attempt, "stream": "stderr" if is_stderr else None, "follow": follow,
            "tail": tail, "offset": offset or None})
        try:
            with api.open("GET", target, silence_s=_SILENCE_S if follow else None) as answer:
                while piece := answer.piece():
                    patience.answered()
                    offset += len(piece)
                    yield from splitter.feed(piece)
            patience.answered()
            if follow is None or (over_before and offset == before):
                break
        except Unreachable as error:
            if error.code == "silent" and follow:  # nothing was printed
                continue
            patience.pause(error)
        except ApiError as error:
            patience.pause(error)
    yield from splitter.feed(b"", final=True)
