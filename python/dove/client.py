"""Jobs of a Dovetail cluster: submit them, wait for them, read what they print.

    job = dove.submit(["python3", "train.py"], gpus=2, memory="64Gi", time_limit="2h", workdir=os.getcwd())
    for line in job.logs(follow=True):
        print(line)
    if job.wait() != "completed":
        print(*job.logs(stderr=True), sep="\\n")

The functions of this module find the server and the token as the command `dove` does (dove.endpoint); a Client is for
another server or another token. Clients and jobs may be used by several threads.
"""
from __future__ import annotations

import dataclasses
import json
import secrets
import time
import typing
import urllib.parse
import warnings

from dove import endpoint, log_lines, submission
from dove.connection import Api, path_with
from dove.errors import ApiError, DoveError, TimedOut, Unreachable

_SILENCE_S = 45.0  # of a wait: the server sends a blank line every 15 s
_GONE = ("no_such_job", "there is no such job any more: it ended long ago and was forgotten")


@dataclasses.dataclass(frozen=True)
class Reason:
    """One cause why a job waits. `details` are its numbers, as api/openapi.yaml names them (Reason)."""

    kind: str
    text: str
    details: dict[str, typing.Any] = dataclasses.field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.text


class Job:
    """A job, an array of jobs, or an element of one, as the server knows it; nothing is kept here but its id."""

    def __init__(self, api: Api, id: int | str) -> None:
        self._api = api
        self.id = str(id)
        self._path = "/v1/jobs/" + urllib.parse.quote(self.id, safe="")

    def __repr__(self) -> str:
        return f"<dove.Job {self.id}>"

    def info(self) -> dict[str, typing.Any]:
        """All that the server says of it: schema Job of api/openapi.yaml; of an array, of its first element."""
        return self._api.get(self._path)

    @property
    def state(self) -> str:
        """waiting, held, preparing, running, stopping, or how it ended: completed, failed, cancelled, timed_out,
        node_lost, dependency_never_met, deadline_missed.

        An array has the state of an element that runs, else of one that waits, else of one that did not complete.
        """
        ranks = {"ended": 1, "waiting": 2, "active": 3}
        best, state = -1, ""
        for each in self._elements():
            rank = 0 if each["state"] == "completed" else ranks[each["phase"]]
            if rank > best:
                best, state = rank, each["state"]
        return state

    @property
    def exit_code(self) -> int | None:
        """The highest of the job, or of an array's elements; None as long as one of them has not ended."""
        highest = 0
        for each in self._elements():
            if each["phase"] != "ended":
                return None
            highest = max(highest, each["exit_code"] or 0)
        return highest

    def elements(self) -> list[Job]:
        """The jobs of an array; of a job that is none, itself."""
        return [Job(self._api, f"{each['array']['id']}_{each['array']['index']}" if each["array"] else self.id)
                for each in self._elements()]

    def wait(self, timeout: float | None = None) -> str:
        """Waits until it has ended, an array until all of its elements have; `timeout` is in seconds.

        Returns how: "completed", or how the first one ended that did not complete. A restart of the server is waited
        for. Raises TimedOut (the job goes on), Unreachable, ApiError.
        """
        answer = self._wait_until("ended", timeout)
        others = answer["not_completed"]
        return others[0]["state"] if others else "completed"

    def why(self) -> list[Reason]:
        """All causes why it waits, with numbers; none when it does not wait."""
        reasons = self._api.get(self._path + "/why")["reasons"]
        return [Reason(each["kind"], each["text"], {name: value for name, value in each.items()
                                                    if name not in ("kind", "text")}) for each in reasons]

    def cancel(self) -> int:
        """Ends it: SIGTERM, its grace, SIGKILL. Returns how many jobs that was done to; 0: it had ended."""
        try:
            return self._api.post(self._path + "/cancel")["changed"]
        except ApiError as error:
            if error.code != "job_ended":
                raise
            return 0

    def logs(self, rank: int = 0, follow: bool = False, stderr: bool = False,
             attempt: int | None = None) -> typing.Iterator[str]:
        """The lines that a task printed, without their ends; of the last attempt unless given.

        With `follow` it waits for the job to start, and goes on until that attempt has ended, also when the server is
        restarted meanwhile. Without, it raises ApiError `job_not_started` where there is nothing yet.
        """
        if not follow:
            yield from log_lines.read_lines(self._api, self.id, rank, attempt, stderr)
            return
        self._wait_until("started", None)
        number = attempt or self.info()["attempt"]
        if not number:  # it ended before it started: the server says why
            yield from log_lines.read_lines(self._api, self.id, rank, None, stderr)
            return

        def is_over() -> bool:
            return all(each["stage"] == "ended" for each in self.info()["attempts"] if each["number"] == number)

        yield from log_lines.follow_lines(self._api, self.id, rank, number, stderr, is_over)

    def tail(self, lines: int, rank: int = 0) -> list[str]:
        """The last lines that a task wrote to stderr, or else to stdout."""
        for stream in ("stderr", "stdout"):
            said = list(log_lines.read_lines(self._api, self.id, rank, None, stream == "stderr", tail=lines))
            if said:
                break
        return said

    def _elements(self) -> typing.Iterator[dict[str, typing.Any]]:
        is_known = False
        for each in self._api.pages("/v1/jobs", "jobs", ids=self.id):
            is_known = True
            yield each
        if not is_known:
            yield self.info()  # says why not

    def _wait_until(self, until: str, timeout: float | None) -> dict[str, typing.Any]:
        deadline = None if timeout is None else time.monotonic() + timeout
        patience = self._api.patience(deadline)
        target = path_with(self._path + "/wait", {"until": until})
        while True:
            left_s = _SILENCE_S if deadline is None else min(_SILENCE_S, deadline - time.monotonic())
            try:
                with self._api.open("GET", target, silence_s=left_s) as answer:
                    for line in answer.lines():
                        patience.answered()
                        if line.strip():
                            return _known(json.loads(line))
                        if deadline is not None and time.monotonic() >= deadline:
                            break
                error: DoveError = Unreachable("no_answer", "the server keeps ending the wait early",
                                               remedy="see its log")
            except DoveError as caught:
                error = caught
            if deadline is not None and time.monotonic() >= deadline and self._api.has_answered:
                raise TimedOut("timed_out", f"job {self.id} has not ended within {timeout:g} s") from None
            patience.pause(error)


class Client:
    """A server and who calls. What is left out is found as the command `dove` finds it.

    `timeout_s` is for one call, `patience_s` for a server that has answered before and is gone: so long is it waited
    for. `insecure`: the token may go to an http:// server on another machine, where everybody on the network can read it.
    Raises Unreachable `no_server`, DoveError `bad_url`, `bad_ca_file`, `bad_config`, `insecure_url`.
    """

    def __init__(self, url: str = "", token: str = "", data: str = "", ca_file: str = "", *, timeout_s: float = 60.0,
                 patience_s: float = 60.0, insecure: bool = False) -> None:
        self.api = Api(endpoint.find(url, data, token, ca_file, insecure), timeout_s, patience_s)

    def submit(self, what: submission.What, **options: typing.Any) -> Job:
        """Submits a command (a list of strings), a job file (its path) or the fields of a job (a dict).

        `options` are fields of the job as schema Submission of api/openapi.yaml has them: gpus=0.5, cores=4,
        memory="64Gi" (or bytes), time_limit="2h" (or seconds), nodes=2, array="0-9%2", environment={...}. The job has
        no environment and no working directory but what it is given. The warnings of the server become DoveWarnings.

        A job file in JSON is read here, others (tuxiv.conf, sbatch, YAML, a directory) by the program `dove`. Raises
        ApiError with the field that is wrong, DoveError for a file that cannot be read.
        """
        return self._submit(what, options)

    def _submit(self, what: submission.What, options: dict[str, typing.Any]) -> Job:
        fields, said = submission.read(what, options, self.api.endpoint)
        # The same key each time: an answer that was lost does not make a second job.
        answer = self.api.post("/v1/jobs", fields, key=secrets.token_hex(16))
        for text in (*said, *answer["warnings"]):
            warnings.warn(text, DoveWarning, stacklevel=3)
        return Job(self.api, answer["id"])

    def job(self, id: int | str) -> Job:
        """The job of an id: 12, or "12_3" for an element of array 12. Raises ApiError `no_such_job`."""
        found = Job(self.api, id)
        found.info()
        return found

    def jobs(self, **query: typing.Any) -> typing.Iterator[dict[str, typing.Any]]:
        """Jobs from the oldest to the newest, as schema JobSummary; a page of 1000 is in memory at a time.

        `query` are the parameters of listJobs: state="waiting,running", user=, queue=, pool=, name=, label=, text=.
        """
        return self.api.pages("/v1/jobs", "jobs", **query)


class DoveWarning(UserWarning):
    """A part of a job has no effect, or not the one that it seems to have."""


def _known(waited: dict[str, typing.Any]) -> dict[str, typing.Any]:
    if waited["jobs"] == 0:
        raise DoveError(*_GONE)
    return waited


def submit(what: submission.What, **options: typing.Any) -> Job:
    return Client()._submit(what, options)


def job(id: int | str) -> Job:
    return Client().job(id)


def jobs(**query: typing.Any) -> typing.Iterator[dict[str, typing.Any]]:
    return Client().jobs(**query)


submit.__doc__, job.__doc__, jobs.__doc__ = Client.submit.__doc__, Client.job.__doc__, Client.jobs.__doc__
