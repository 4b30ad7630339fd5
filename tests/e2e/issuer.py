"""A sign-in service (OpenID Connect) that tests can make lie: real signatures (openssl), any claims.

It is a fake; console/browser/issuer.mjs starts a real one. It signs in whomever `login` names, without asking.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import subprocess
import threading
import time
import urllib.parse


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    def __init__(self, folder, client_id="dove", secret="hidden: secret"):
        self.folder, self.client_id, self.secret = folder, client_id, secret
        self.login = {"sub": "1", "preferred_username": "ada", "groups": []}
        self.change = {}          # of the ID token's claims; None takes one out
        self.algorithm = "RS256"  # what the token says
        self.hangs = threading.Event()
        self.goes_on = threading.Event()
        self.codes, self.asked = {}, []
        self.keys = 0
        self.new_key()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.goes_on.set()
        self.server.shutdown()
        self.server.server_close()

    def new_key(self):
        """From now on there is this key alone."""
        self.keys += 1
        self.key = os.path.join(self.folder, f"issuer-{id(self)}-{self.keys}.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key],
                       check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True,
                                 capture_output=True, text=True).stdout.strip().split("=")[1]
        self.jwk = {"kty": "RSA", "use": "sig", "kid": f"k{self.keys}", "n": encoded(bytes.fromhex(modulus)), "e": "AQAB"}

    def sign(self, text):
        if self.algorithm == "none":
            return b""
        if self.algorithm == "HS256":  # with the public key as the secret, as in a known attack
            return hmac.new(json.dumps(self.jwk).encode(), text, hashlib.sha256).digest()
        return subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text, check=True,
                              capture_output=True).stdout

    def token(self, nonce):
        now = int(time.time())
        claims = {"iss": self.url, "aud": self.client_id, "nonce": nonce, "iat": now, "exp": now + 300, **self.login,
                  **self.change}
        claims = {name: value for name, value in claims.items() if value is not None}
        head = {"alg": self.algorithm, "kid": self.jwk["kid"]}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims)).encode()
        return f"{text.decode()}.{encoded(self.sign(text))}"

    def document(self):
        return {"issuer": self.url, "authorization_endpoint": self.url + "/auth", "token_endpoint": self.url + "/token",
                "jwks_uri": self.url + "/jwks"}

    def redeem(self, form, authorization):
        wanted = "Basic " + base64.b64encode(
            f"{self.client_id}:{urllib.parse.quote(self.secret, safe='')}".encode()).decode()
        asked = self.codes.pop(form.get("code"), None)
        if authorization != wanted:
            return 401, {"error": "invalid_client"}
        challenge = encoded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not asked or asked["code_challenge"] != challenge or asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.token(asked["nonce"])}

    def handler(issuer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, value=None, headers=()):
                body = json.dumps(value).encode() if value is not None else b""
                self.send_response(status)
                for name, text in headers:
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(body)))
                try:
                    self.end_headers()
                    self.wfile.write(body)
                except BrokenPipeError:
                    pass  # who asked has given up

            def do_GET(self):
                issuer.asked.append(self.path)
                if issuer.hangs.is_set():
                    issuer.goes_on.wait(60)
                where = urllib.parse.urlsplit(self.path)
                if where.path == "/.well-known/openid-configuration":
                    return self.answer(200, issuer.document())
                if where.path == "/jwks":
                    return self.answer(200, {"keys": [issuer.jwk]})
                if where.path != "/auth":
                    return self.answer(404, {})
                query = dict(urllib.parse.parse_qsl(where.query))
                code = f"code{len(issuer.asked)}"
                issuer.codes[code] = query
                back = urllib.parse.urlencode({"code": code, "state": query["state"], "iss": issuer.url})
                return self.answer(302, None, [("Location", f"{query['redirect_uri']}?{back}")])

            def do_POST(self):
                issuer.asked.append(self.path)
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(*issuer.redeem(dict(urllib.parse.parse_qsl(form)), self.headers.get("Authorization")))

        return Handler
