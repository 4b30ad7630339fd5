"""Certificates of an authority whose key is at hand, good ones and others, made with openssl; and a server that shows them."""
import os
import socket
import ssl
import subprocess
import threading

# What `openssl ca` needs to make one as the cluster's authority does.
CONFIG = """[ca]
default_ca = it
[it]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = names
x509_extensions = leaf
[names]
commonName = supplied
[leaf]
subjectAltName = {names}
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
"""
NOW = ("20200101000000Z", "20490101000000Z")
PAST = ("20200101000000Z", "20200102000000Z")
FUTURE = ("20480101000000Z", "20490101000000Z")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x")


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True, timeout=30).stdout


class Authority:
    """That of these files; a new one where none are named."""

    def __init__(self, folder, certificate=None, key=None):
        os.makedirs(folder)
        self.folder, self.made = folder, 0
        self.certificate, self.key = certificate or folder + "/ca.pem", key or folder + "/ca.key"
        if not certificate:
            openssl("req", "-x509", *NEW_KEY, "-days", "9000", "-keyout", self.key, "-out", self.certificate)

    def pair(self, names, times=NOW):
        """(certificate, key), paths of files; `names` as in "DNS:head,IP:127.0.0.1"."""
        self.made += 1
        path = f"{self.folder}/{self.made}"
        with open(self.folder + "/config", "w") as file:
            file.write(CONFIG.format(folder=self.folder, names=names))
        open(self.folder + "/index", "w").close()
        openssl("req", "-new", *NEW_KEY, "-keyout", path + ".key", "-out", path + ".csr")
        openssl("ca", "-batch", "-notext", "-config", self.folder + "/config", "-cert", self.certificate, "-keyfile", self.key,
                "-in", path + ".csr", "-out", path + ".pem", "-startdate", times[0], "-enddate", times[1])
        return path + ".pem", path + ".key"


class Server:
    """Answers everybody who gets through with {}, and keeps what they said."""

    def __init__(self, pair, client_authority=None):
        self.said = b""
        self.context = None
        if pair:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*pair)
        if client_authority:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(client_authority)
        self.listens = socket.create_server(("127.0.0.1", 0))
        self.port = self.listens.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                plain, _ = self.listens.accept()
            except OSError:
                return
            with plain:
                plain.settimeout(10)
                try:
                    self.answer(plain)
                except OSError:
                    pass

    def answer(self, plain):
        if not self.context:
            self.said += plain.recv(65536)
            return plain.sendall(ANSWER)
        with self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as stream:
            try:
                stream.do_handshake()
            except ssl.SSLError:
                # Closed with bytes unread, it would take the alert from the client.
                while socket.socket.recv(stream, 65536):
                    pass
                raise
            self.said += stream.recv(65536)
            stream.sendall(ANSWER)

    def end(self):
        self.listens.shutdown(socket.SHUT_RDWR)
        self.listens.close()
        self.thread.join(10)
