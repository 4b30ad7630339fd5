"""HTTP with one server: TLS 1.3 with verification, the server's Unix socket, time-outs, and patience while it restarts.

Every exchange has a connection of its own, so an Api may be used by several threads. Nothing follows redirects and no
proxy is used: a token goes to the server that it is meant for, and to nobody else.
"""
from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
import typing
import urllib.parse

from dove.endpoint import Endpoint
from dove.errors import ApiError, DoveError, Unreachable, of_problem

CONNECT_S = 5.0
ANSWER_BYTES_MAX = 256 << 20
_PIECE = 1 << 16
_PROBLEM_BYTES_MAX = 1 << 20
_PAUSE_S, _PAUSE_MAX_S = 0.1, 2.0
_ASKED_TOO_MUCH_TRIES, _ASKED_TOO_MUCH_MAX_S = 30, 10
_LASTING = ("certificate_untrusted", "certificate_expired", "certificate_not_yet_valid", "certificate_wrong_name",
            "certificate_refused", "not_tls", "bad_ca_file", "bad_url")
# By OpenSSL's number of the verdict: the code, and what to do. All others mean that the authority is not trusted.
_VERDICTS = {
    9: ("certificate_not_yet_valid", "look at the clocks of both machines"),
    10: ("certificate_expired", "look at this machine's clock; a dove server renews its own certificate"),
    62: ("certificate_wrong_name", "use a name that the certificate has, or start the server with --tls-name NAME"),
    64: ("certificate_wrong_name", "use a name that the certificate has, or start the server with --tls-name NAME"),
}
_UNTRUSTED = ("certificate_untrusted", "name the cluster's authority: DOVE_CA_FILE, or ca_file: in config.yaml "
              "(`dove ca show` on the controller prints it)")
_FIRST = ("connection_refused", "host_unknown", "timeout")  # no server's restart, unless it has answered before
_TRY_LATER = (502, 503, 504)
_LOG_HEAD = "Dove-Log-Head"


class Answer:
    """The head of an answer below 400, and its body as a stream. A broken stream raises Unreachable."""

    def __init__(self, response: http.client.HTTPResponse, where: str) -> None:
        self._response, self._where = response, where

    def piece(self) -> bytes:
        """What has come, at least a byte; b"" at the end."""
        try:
            piece = self._response.read1(_PIECE)
            if not piece and self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)
            return piece
        except (OSError, http.client.HTTPException) as error:
            raise _broken(error, self._where) from None

    def lines(self) -> typing.Iterator[bytes]:
        """Whole lines, without their ends."""
        rest = b""
        while piece := self.piece():
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > ANSWER_BYTES_MAX:
                raise DoveError("line_too_long", f"a line of {self._where} is longer than {ANSWER_BYTES_MAX} bytes")
            yield from whole
        if rest:
            yield rest


class Patience:
    """How long to wait for a server that went away: `limit_s` seconds since it last answered."""

    def __init__(self, api: Api, limit_s: float, deadline: float | None = None) -> None:
        self._api, self._limit_s, self._deadline = api, limit_s, deadline
        self._since: float | None = None
        self._tries = 0

    def answered(self) -> None:
        self._since, self._tries = None, 0

    def pause(self, error: DoveError) -> None:
        """Waits before the next try; raises the error when there shall be none."""
        may_pass = isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in _TRY_LATER)
        if not may_pass or error.code in _LASTING:
            raise error
        if error.code in _FIRST and not self._api.has_answered and not self._api.has_several:
            raise error
        if self._api.has_several:
            self._api.turn()
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= self._limit_s or (self._deadline is not None and now >= self._deadline):
            raise error
        pause_s = min(_PAUSE_S * 2 ** min(self._tries, 10), _PAUSE_MAX_S)
        if self._deadline is not None:
            pause_s = min(pause_s, self._deadline - now)
        self._tries += 1
        time.sleep(pause_s)


class Api:
    """The calls of /v1. A call that may be made again is, for `patience_s` seconds, while the server restarts.

    Each of several controllers answers reads. What this Api has changed is in all answers that it gets later.
    """

    def __init__(self, endpoint: Endpoint, timeout_s: float = 60.0, patience_s: float = 60.0) -> None:
        self.endpoint, self.timeout_s, self.patience_s = endpoint, timeout_s, patience_s
        self.has_answered = False
        all_parts = [_parts_of(url) for url in endpoint.url.split(",")]  # the controllers of one cluster
        self._places = [(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80),
                         parts.path.rstrip("/"), parts.scheme == "https") for parts in all_parts]
        endpoint.check_secrets()
        self._at = 0
        self._written = ""  # the log's head after the last change
        is_tls = any(place[3] for place in self._places) and not endpoint.unix_socket
        self._tls = _tls(endpoint.ca_file) if is_tls else None

    @property
    def has_several(self) -> bool:
        return len(self._places) > 1

    def turn(self) -> None:
        """From here on another controller of the cluster is asked: this one cannot be reached, or does not lead."""
        self._at = (self._at + 1) % len(self._places)

    def get(self, path: str, **query: typing.Any) -> typing.Any:
        """The JSON of a read. Query values that are None are left out."""
        return self._call("GET", path_with(path, query), None, {})

    def post(self, path: str, body: typing.Any = None, key: str = "") -> typing.Any:
        """The JSON of a change that does no harm when it is made twice: `key` is its Idempotency-Key."""
        return self._call("POST", path, body, {"Idempotency-Key": key} if key else {})

    def patience(self, deadline: float | None = None) -> Patience:
        return Patience(self, self.patience_s, deadline)

    def pages(self, path: str, member: str, limit: int = 1000, **query: typing.Any) -> typing.Iterator[typing.Any]:
        """The entries of a list, one page in memory at a time."""
        after: typing.Any = None
        while True:
            page = self.get(path, limit=limit, after=after, **query)
            yield from page[member]
            if page["next"] is None or page["next"] == after:
                return
            after = page["next"]

    def _call(self, method: str, target: str, body: typing.Any, headers: dict[str, str]) -> typing.Any:
        payload = None if body is None else json.dumps(body, allow_nan=False).encode()
        if payload is not None:
            headers = {**headers, "Content-Type": "application/json"}
        patience = self.patience()
        while True:
            try:
                with self.open(method, target, payload, headers) as answer:
                    return _json_of(answer, time.monotonic() + self.timeout_s)
            except (Unreachable, ApiError) as error:
                patience.pause(error)

    @contextlib.contextmanager
    def open(self, method: str, target: str, payload: bytes | None = None, headers: dict[str, str] | None = None,
             silence_s: float | None = None) -> typing.Iterator[Answer]:
        """An answer to read as it comes; after `silence_s` seconds without a byte it counts as broken (`timeout`).

        Raises ApiError when the server refuses, Unreachable when it does not answer. Waits where it asked too much.
        """
        silence_s = self.timeout_s if silence_s is None else silence_s
        for tried in range(1, _ASKED_TOO_MUCH_TRIES + 1):
            with contextlib.ExitStack() as stack:
                connection = stack.enter_context(contextlib.closing(self._connect()))
                response = stack.enter_context(self._ask(connection, method, target, payload, headers or {}, silence_s))
                if response.status < 400:
                    yield Answer(response, f"{self.endpoint.url}{target}")
                    return
                answer, body = Answer(response, self.endpoint.url), b""
                while len(body) < _PROBLEM_BYTES_MAX and (piece := answer.piece()):
                    body += piece
                error = of_problem(response.status, body)
                wait_s = response.headers.get("Retry-After", "")
            if error.status != 429 or tried == _ASKED_TOO_MUCH_TRIES:
                raise error
            time.sleep(min(max(int(wait_s) if wait_s.isdigit() else 1, 1), _ASKED_TOO_MUCH_MAX_S))

    def _ask(self, connection: http.client.HTTPConnection, method: str, target: str, payload: bytes | None,
             more: dict[str, str], silence_s: float) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json", "X-Dove-User": self.endpoint.user, **more}
        if self._written:
            headers[_LOG_HEAD] = self._written
        if self.endpoint.token:
            headers["Authorization"] = "Bearer " + self.endpoint.token
        try:
            connection.sock.settimeout(max(silence_s, 0.001))
            connection.request(method, self._places[self._at][2] + target, payload, headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise _broken(error, self.endpoint.url) from None
        self.has_answered = True
        if method != "GET" and response.status < 400:
            self._written = response.headers.get(_LOG_HEAD, self._written)
        return response

    def _connect(self) -> http.client.HTTPConnection:
        endpoint = self.endpoint
        connection: http.client.HTTPConnection
        if endpoint.unix_socket:
            connection = _UnixConnection(endpoint.unix_socket)
        else:
            host, port, _, is_tls = self._places[self._at]
            if is_tls:
                connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_S, context=self._tls)
            else:
                connection = http.client.HTTPConnection(host, port, timeout=CONNECT_S)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise self._no_connection(error) from None
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection

    def _no_connection(self, error: OSError) -> Unreachable:
        url, origin = self.endpoint.url, self.endpoint.origin
        where = f" (the URL is from {origin})" if origin else ""
        if isinstance(error, ssl.SSLCertVerificationError):
            code, remedy = _VERDICTS.get(error.verify_code, _UNTRUSTED)
            return Unreachable(code, f"cannot trust {url}: {error.verify_message.rstrip('.')}{where}", remedy=remedy)
        if isinstance(error, ssl.SSLError):
            return Unreachable("not_tls", f"no TLS 1.3 with {url}: {error.reason or error}{where}",
                               remedy="write http:// if the server is a plain one")
        if isinstance(error, socket.gaierror):
            return Unreachable("host_unknown", f"cannot reach {url}: {error.strerror}{where}",
                               remedy="check the server's name")
        if isinstance(error, (TimeoutError, socket.timeout)):
            return Unreachable("timeout", f"cannot reach {url} within {CONNECT_S:g} s{where}",
                               remedy="check the server's name and the network")
        return Unreachable("connection_refused", f"cannot reach {url}: {error.strerror or error}{where}",
                           remedy="is `dove server` or `dove up` running?")


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the server's Unix socket, which knows who calls."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_S)
        self.sock.connect(self._path)


def path_with(path: str, query: dict[str, typing.Any]) -> str:
    """The path with those of the values that are not None."""
    given = {name: value for name, value in query.items() if value is not None}
    return path + ("?" + urllib.parse.urlencode(given) if given else "")


def _parts_of(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_good = False
    if not is_good:
        raise DoveError("bad_url", f"{url} is not a URL of a server", remedy="write https://HOST:PORT")
    return parts


def _tls(ca_file: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise DoveError("bad_ca_file", f"{ca_file}: {error.strerror or error}", ca_file,
                        "DOVE_CA_FILE or ca_file: names a file of certificates in PEM") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _broken(error: Exception, url: str) -> Unreachable:
    # In TLS 1.3 a server says so once the client has asked.
    if isinstance(error, ssl.SSLError) and "CERTIFICATE" in (error.reason or ""):
        return Unreachable("certificate_refused", f"{url} wants a client's certificate",
                           remedy="is this the port of the agents? use that of people")
    if isinstance(error, (TimeoutError, socket.timeout)):
        return Unreachable("silent", f"no answer from {url} in time", remedy="try again, or see the server's log")
    return Unreachable("connection_broken", f"the connection to {url} broke: {error or type(error).__name__}",
                       remedy="did the server end? try again")


def _json_of(answer: Answer, deadline: float) -> typing.Any:
    pieces, size = [], 0
    while piece := answer.piece():
        pieces.append(piece)
        size += len(piece)
        if size > ANSWER_BYTES_MAX:
            raise DoveError("response_too_large", f"the answer is longer than {ANSWER_BYTES_MAX} bytes",
                            remedy="ask for less")
        if time.monotonic() > deadline:
            raise Unreachable("silent", "the answer did not come to its end in time", remedy="try again")
    try:
        return json.loads(b"".join(pieces)) if pieces else None
    except ValueError:
        raise DoveError("bad_answer", "the server's answer is not JSON",
                        remedy="is this the URL of a dove server?") from None
