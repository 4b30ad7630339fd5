"""Where the server is and how to prove who calls: found exactly as the command `dove` finds it.

The server, in this order: DOVE_URL; DOVE_DATA, a server's data directory, which holds `url` and `token`;
$XDG_CONFIG_HOME/dove/config.yaml; /etc/dove/config.yaml; the default data directory ($XDG_STATE_HOME/dove,
~/.local/state/dove); that of the service. The token: DOVE_TOKEN; the file DOVE_TOKEN_FILE; inside a job
DOVE_JOB_TOKEN; the one beside the URL, which is sent only to the URL that it was stored for. Without a token, on the
server's own machine, the server's Unix socket: who calls is known there. The authorities of an https:// server:
DOVE_CA_FILE, `ca_file:` of the configuration, ca.pem of the data directory, else the system's.

A token is shown to no http:// server on another machine, unless the argument `insecure`, DOVE_INSECURE=1, or
`insecure: true` beside the URL in the configuration says that the network is trusted. The server whose own data
directory it is was told so itself.
"""
from __future__ import annotations

import dataclasses
import ipaddress
import os
import pwd
import re
import urllib.parse

from dove.errors import DoveError, Unreachable

_FILE_BYTES_MAX = 64 * 1024
_SERVICE_DATA = "/var/lib/dove/server"
_CONFIG_LINE = re.compile(r"([A-Za-z_]+)\s*:(?:\s+(.*))?")
_CONFIG_KEYS = ("url", "token_file", "ca_file", "data", "insecure")
_YES = ("1", "true", "yes")


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A server. `origin` says where its URL was found; an empty `ca_file` means the system's authorities."""

    url: str
    token: str = dataclasses.field(default="", repr=False)
    ca_file: str = ""
    unix_socket: str = ""
    origin: str = ""
    user: str = ""  # for whom the administrator's token speaks
    insecure: bool = False  # secrets may go there in the clear

    def check_secrets(self) -> None:
        """Raises DoveError `insecure_url` where the token would go over the network in the clear, to be used by all on it."""
        if not self.token or self.unix_socket or self.insecure:
            return
        for url in self.url.split(","):
            parts = urllib.parse.urlsplit(url)
            if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
                raise DoveError("insecure_url", f"{url}: the token would go over the network in the clear, and everybody on "
                                "it could use it", url, "write https://, or, where all of them are trusted, say "
                                "DOVE_INSECURE=1 or insecure=True")


@dataclasses.dataclass
class _Found:
    url: str = ""
    token_file: str = ""
    ca_file: str = ""
    origin: str = ""
    insecure: bool = False


def find(url: str = "", data: str = "", token: str = "", ca_file: str = "", insecure: bool = False) -> Endpoint:
    """The endpoint; what is given goes before what is found.

    Raises Unreachable `no_server` when none is known, DoveError `bad_config` or `cannot_read` for a bad file.
    """
    origin = "the argument url" if url else "DOVE_URL"
    data = data or os.environ.get("DOVE_DATA", "")
    url = url or os.environ.get("DOVE_URL", "")
    stored = _in_data(data) if data else _in_known_places()
    if not url:
        url, origin = stored.url, stored.origin
    if not url and data:
        raise Unreachable("no_server", f"{data} has no file `url`: no server was started on it",
                          remedy=f"try `dove up --data {data}`")
    if not url:
        raise Unreachable(
            "no_server", "no server is known", remedy="start a cluster on this machine with `dove up`, or name one "
            f"with DOVE_URL, DOVE_DATA, or `url:` in {_config_directory()}/config.yaml")
    if data and not stored.url:
        stored = _Found(url, data + "/token", _ca_in(data))
    elif data and stored.url.rstrip("/") != url.rstrip("/"):
        stored.url, stored.insecure = url, False  # both were named: the token is meant for it
    is_stored = stored.url.rstrip("/") == url.rstrip("/")
    insecure = insecure or os.environ.get("DOVE_INSECURE", "") in _YES or (is_stored and stored.insecure)
    if not ca_file:
        ca_file = os.environ.get("DOVE_CA_FILE", "") or (stored.ca_file if is_stored else "")
    token = token or _token(stored.token_file if is_stored else "", url)
    socket = "" if token or not is_stored else _socket_beside(stored.token_file)
    return Endpoint(url.rstrip("/"), token, ca_file, socket, origin, os.environ.get("DOVE_USER", "") or local_user(),
                    insecure)


def _is_this_machine(host: str) -> bool:
    """Whether what is sent there stays on this machine; by a name alone nobody knows."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def local_user() -> str:
    """Who runs this program, by name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return os.environ.get("USER", "")


def _home() -> str:
    return os.environ.get("HOME", "") or os.path.expanduser("~")


def _config_directory() -> str:
    return (os.environ.get("XDG_CONFIG_HOME", "") or _home() + "/.config") + "/dove"


def _state_directory() -> str:
    return (os.environ.get("XDG_STATE_HOME", "") or _home() + "/.local/state") + "/dove"


def _read(path: str) -> str:
    """The file without trailing white space; raises OSError, and DoveError when it is over 64 KiB or no text."""
    with open(path, "rb") as file:
        text = file.read(_FILE_BYTES_MAX + 1)
    if len(text) > _FILE_BYTES_MAX:
        raise DoveError("too_large", f"{path}: over {_FILE_BYTES_MAX // 1024} KiB", path)
    try:
        return text.decode().rstrip("\r\n ")
    except UnicodeDecodeError:
        raise DoveError("bad_config", f"{path}: this is not text in UTF-8", path) from None


def _ca_in(directory: str) -> str:
    path = directory + "/ca.pem"
    return path if os.access(path, os.R_OK) else ""


def _in_data(directory: str) -> _Found:
    try:
        url = _read(directory + "/url")
    except OSError:
        return _Found()
    # It would not be there if the server had not been told.
    return _Found(url, directory + "/token", _ca_in(directory), directory + "/url", insecure=True)


def read_config(text: str, path: str) -> dict[str, str]:
    """The keys of a config.yaml, which holds one `key: value` a line. Raises DoveError `bad_config` with the line."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped == "---":
            continue
        entry = _CONFIG_LINE.fullmatch(stripped)
        if entry is None or line[0] in " \t":
            raise DoveError("bad_config", f"{path}:{number}: it holds url:, token_file: and ca_file:, one a line", path)
        if entry[1] in _CONFIG_KEYS:
            found[entry[1]] = _scalar(entry[2] or "")
    return found


def _scalar(text: str) -> str:
    if text[:1] in ("'", '"') and text.rfind(text[0]) > 0:
        return text[1:text.rfind(text[0])]
    text = text.strip() if text.startswith("#") else text.split(" #")[0].strip()
    return "" if text.startswith("#") else text


def _in_config(path: str) -> _Found:
    try:
        config = read_config(_read(path), path)
    except OSError:
        return _Found()
    if not config.get("url") and config.get("data"):
        return _in_data(config["data"])
    return _Found(config.get("url", ""), config.get("token_file", ""), config.get("ca_file", ""), path,
                  config.get("insecure", "") in _YES)


def _in_known_places() -> _Found:
    for look, path in ((_in_config, _config_directory() + "/config.yaml"), (_in_config, "/etc/dove/config.yaml"),
                       (_in_data, _state_directory()), (_in_data, _SERVICE_DATA)):
        found = look(path)
        if found.url:
            return found
    return _Found()


def _token(stored_file: str, url: str) -> str:
    token, named = os.environ.get("DOVE_TOKEN", ""), os.environ.get("DOVE_TOKEN_FILE", "")
    if token:
        return token
    if named:
        try:
            return _read(named)
        except OSError as error:
            raise DoveError("cannot_read", f"{named}: {error.strerror}", named,
                            "DOVE_TOKEN_FILE names the file of a token") from None
    job_token = os.environ.get("DOVE_JOB_TOKEN", "")
    if job_token and url == os.environ.get("DOVE_URL", ""):  # a task speaks for its job, to the server that started it
        return job_token
    try:
        return _read(stored_file) if stored_file else ""
    except OSError:
        return ""


def _socket_beside(token_file: str) -> str:
    if "/" not in token_file:
        return ""
    path = token_file.rpartition("/")[0] + "/socket"
    return path if os.access(path, os.R_OK | os.W_OK) else ""
