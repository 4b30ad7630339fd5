#!/usr/bin/python3 -I
"""A sign-in hook of `dove server` for OpenStack Keystone v3: --sign-in-hook /usr/local/lib/dove/keystone.py

Reads the question from its input, asks Keystone for a token with the name and the password, and says whose it is: the
user by name and id, and their roles in the token's project as groups, /PROJECT/ROLE. The token is revoked before the
answer. keystone.conf beside this file says where Keystone is. Standard library only.

Exit status 0 comes with an answer, `refused` among them; 2 means that nobody could be asked, and says why on stderr,
without the password. Nothing ends with 1, which would mean a wrong password.
"""
import configparser
import http.client
import json
import os
import ssl
import sys
import urllib.parse

ANSWER_BYTES_MAX = 1 << 20
TIMEOUT_S = 4  # of each step; the server waits for ten seconds in all
THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


class Trouble(Exception):
    """What an administrator is to read; never holds what a person typed."""


def settings():
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "keystone.conf")
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        found = parser["keystone"]
        url, domain = found["url"], found["domain"]
    except (OSError, KeyError, configparser.Error) as error:
        raise Trouble(f"{path}: {error}") from None
    return {"url": url, "domain": domain, "project": found.get("project", ""), "ca_file": found.get("ca_file"),
            "project_domain": found.get("project_domain", domain)}


class Keystone:
    def __init__(self, url, ca_file):
        parts = urllib.parse.urlsplit(url)
        self.base = parts.path.rstrip("/").removesuffix("/v3")
        if parts.scheme == "https" and parts.hostname:
            context = ssl.create_default_context(cafile=ca_file)
            self.connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=TIMEOUT_S, context=context)
        elif parts.scheme == "http" and parts.hostname in THIS_MACHINE:
            self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_S)
        else:
            raise Trouble("keystone.conf: url begins with https://, or is http:// of this machine")

    def call(self, method, path, body=None, headers=None):
        """(status, headers, text). A redirect is an answer like any other."""
        text = None if body is None else json.dumps(body)
        self.connection.request(method, self.base + path, text, {"Content-Type": "application/json", **(headers or {})})
        answer = self.connection.getresponse()
        text = answer.read(ANSWER_BYTES_MAX + 1)
        if len(text) > ANSWER_BYTES_MAX:
            raise Trouble("Keystone answers more than 1 MiB")
        return answer.status, answer.headers, text

    def token_for(self, asked, where):
        """The token and what Keystone says of it; (None, None) when the name or the password is wrong."""
        person = {"name": asked["user"], "domain": {"name": where["domain"]}, "password": asked["password"]}
        auth = {"identity": {"methods": ["password"], "password": {"user": person}}}
        if where["project"]:
            auth["scope"] = {"project": {"name": where["project"], "domain": {"name": where["project_domain"]}}}
        status, headers, text = self.call("POST", "/v3/auth/tokens?nocatalog", {"auth": auth})
        if status == 401:
            return None, None
        token = headers.get("X-Subject-Token")
        if status != 201 or not token:
            raise Trouble(f"Keystone answers {status} to a request for a token")
        return token, text

    def revoke(self, token):
        status, _, _ = self.call("DELETE", "/v3/auth/tokens", headers={"X-Auth-Token": token, "X-Subject-Token": token})
        if status not in (200, 204):
            raise Trouble(f"Keystone answers {status} when a token is revoked")


def groups_of(token, where):
    """Roles in a project of the domain. A name with a slash in it could pass for another pair of names."""
    project = token.get("project")
    if project is None or project["domain"]["name"] != where["project_domain"] or "/" in project["name"]:
        return []
    return [f"/{project['name']}/{role['name']}" for role in token["roles"] if "/" not in role["name"]]


def person_of(text, where):
    token = json.loads(text)["token"]
    user = token["user"]
    if user["domain"]["name"] != where["domain"]:
        return {"refused": "a user of another domain"}
    return {"user": user["name"], "id": user["id"], "groups": groups_of(token, where)}


def answer(asked):
    where = settings()
    keystone = Keystone(where["url"], where["ca_file"])
    token, text = keystone.token_for(asked, where)
    if token is None:
        return {"refused": "Keystone refuses the name or the password, or there is no role in the project"}
    try:
        return person_of(text, where)
    finally:
        keystone.revoke(token)


def main():
    try:
        json.dump(answer(json.load(sys.stdin)), sys.stdout)
        return 0
    except (Trouble, OSError, http.client.HTTPException) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    except Exception as error:  # any other is a mistake in here, and its text could hold anything
        print(f"what came was not as expected: {type(error).__name__}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
