"""Certificates of an authority whose key is at hand, good ones and others, made with openssl."""
import os
import subprocess

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
