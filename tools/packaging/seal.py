"""SHA256SUMS of a folder, the signature of it, and the check of both."""
import base64
import hashlib
import os
import re
import subprocess
import tempfile

from packaging.source import Refused, call

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.asc"


def sha256(path):
    sum_ = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            sum_.update(piece)
    return sum_.hexdigest()


def listed(folder):
    """What the sums are of: every file of the folder but the sums themselves."""
    return sorted(name for name in os.listdir(folder) if name not in (SUMS, SIGNATURE))


def seal(folder):
    """Writes the sums, and signs them with the key that DOVE_SIGN_KEY names. Returns what was done, for people."""
    names = listed(folder)
    with open(os.path.join(folder, SUMS), "w", encoding="utf-8") as file:
        file.write("".join(f"{sha256(os.path.join(folder, name))}  {name}\n" for name in names))
    signature = os.path.join(folder, SIGNATURE)
    if os.path.exists(signature):
        os.remove(signature)
    key = os.environ.get("DOVE_SIGN_KEY")
    if not key:
        return f"{len(names)} files in {SUMS}, which nobody has signed: name a key of gpg by DOVE_SIGN_KEY="
    call(["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", "--output", signature,
          os.path.join(folder, SUMS)])
    return f"{len(names)} files in {SUMS}, signed by {key}"


def binary_keyring(path, folder):
    """gpgv reads keyrings without armour: a copy without it in `folder`, where it has one."""
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(b"-----BEGIN PGP PUBLIC KEY BLOCK-----"):
        return os.path.abspath(path)
    text = b""
    for block in re.findall(rb"BLOCK-----\r?\n(?:[^\n]+\n)*\r?\n(.*?)(?:\n=[^\n]{4}\r?)?\n-----END", data, re.S):
        text += base64.b64decode(block)
    bare = os.path.join(folder, "keyring.gpg")
    with open(bare, "wb") as file:
        file.write(text)
    return bare


def check_signature(folder, keyring):
    if not os.path.exists(keyring):
        raise Refused(f"there is no keyring {keyring}")
    if not os.path.exists(os.path.join(folder, SIGNATURE)):
        raise Refused(f"{folder} is not signed: there is no {SIGNATURE}")
    with tempfile.TemporaryDirectory(prefix="dove-verify.") as work:
        done = subprocess.run(["gpgv", "--keyring", binary_keyring(keyring, work), os.path.join(folder, SIGNATURE),
                               os.path.join(folder, SUMS)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Refused(f"{folder}/{SUMS} is signed by nobody of {keyring}:\n{done.stderr.strip()}")
    return re.search(r'"(.*)"', done.stderr)[1] if '"' in done.stderr else "a key of " + keyring


def verify(folder, keyring=None):
    """Refused unless the folder holds exactly the files of its sums, unchanged, and somebody of the keyring signed them."""
    if not os.path.exists(os.path.join(folder, SUMS)):
        raise Refused(f"there is no {folder}/{SUMS}")
    signer = check_signature(folder, keyring) if keyring else None
    with open(os.path.join(folder, SUMS), encoding="utf-8") as file:
        wanted = dict(reversed(line.rstrip("\n").split("  ", 1)) for line in file)
    found = listed(folder)
    problems = [f"{name}: is missing" for name in sorted(set(wanted) - set(found))]
    problems += [f"{name}: is not in {SUMS}" for name in sorted(set(found) - set(wanted))]
    for name in found:
        if name in wanted and sha256(os.path.join(folder, name)) != wanted[name]:
            problems.append(f"{name}: has other bytes")
    if problems:
        raise Refused("\n".join([f"{folder} is not what was released:", *problems]))
    said = f"{len(wanted)} files are as {SUMS} says"
    return f"{said}; signed by {signer}" if signer else f"{said}; whose they are was not checked: name a KEYRING"
