"""What goes wrong, with a stable code, the place and the remedy.

    DoveError             everything below
      ApiError            the server refused a call: its status, code, message and field
      Unreachable         no server answered (a ConnectionError, too)
      TimedOut            what was waited for did not come in time (a TimeoutError, too)
      TaskError           an item of dove.map() raised, or its task ended without a result
"""
from __future__ import annotations

import json
import typing


class DoveError(Exception):
    """`code` is stable and for programs; `message` is for people and `remedy` says what to do, unless the message does.

    `field` names the place: a field of the job ("groups[0].cores"), or a file; "" where there is none.
    """

    def __init__(self, code: str, message: str, field: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.remedy = code, message, field, remedy

    def __str__(self) -> str:
        place = f"{self.field}: " if self.field and self.field not in self.message else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{place}{self.message}{remedy} ({self.code})"


class ApiError(DoveError):
    """The server refused the call; `status` is that of HTTP. The message says what to do."""

    def __init__(self, status: int, code: str, message: str, field: str = "") -> None:
        super().__init__(code, message, field)
        self.status = status


class Unreachable(DoveError, ConnectionError):
    """No server answered, or the connection broke and could not be made again in time."""


class TimedOut(DoveError, TimeoutError):
    """The time that the caller gave is over. What was waited for goes on."""


class TaskError(DoveError):
    """An item of dove.map() has no result: its function raised (`task_raised`), or its task ended before (`task_lost`).

    `index` is the item's place in the iterable, `job` the element's id ("12_3"), `node` where it ran last ("" if
    nowhere), `traceback` that of the task or the last lines that it wrote to stderr. The exception itself is
    `__cause__`, where it can be pickled.
    """

    def __init__(self, code: str, message: str, index: int, job: str, node: str, traceback: str) -> None:
        super().__init__(code, message)
        self.index, self.job, self.node, self.traceback = index, job, node, traceback

    def __str__(self) -> str:
        where = f"job {self.job}" + (f", node {self.node}" if self.node else "")
        rest = f"\n\n{self.traceback.rstrip()}" if self.traceback else ""
        return f"item {self.index} ({where}): {self.message}{rest}"


def of_problem(status: int, body: bytes) -> ApiError:
    """The error that an answer of `application/problem+json` describes; of anything else, its status."""
    problem: typing.Any = None
    try:
        problem = json.loads(body)
    except ValueError:
        pass
    if not isinstance(problem, dict):
        problem = {}

    def text(name: str) -> str:
        value = problem.get(name)
        return value if isinstance(value, str) else ""

    message = text("detail") or text("title") or f"the server answered with status {status}"
    if status == 401 and not text("code"):
        message += "; set DOVE_TOKEN or DOVE_TOKEN_FILE"
    field = text("field")
    return ApiError(status, text("code") or f"http_{status}", message, "" if field == "id" else field)
