"""A package's files become a .deb. The same files give the same bytes: fixed times, owners, modes, order and compression."""
import gzip
import hashlib
import os
import re
import shutil
import tempfile
import textwrap

from packaging.layout import MAINTAINER
from packaging.source import call

BLOCK = 1024


def stage(package, folder):
    """Writes the files of the package into a folder."""
    for path, (what, mode) in package.files.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if isinstance(what, bytes):
            write(target, what)
        elif what[0] == "packed":
            write(target, gzip.compress(what[1], 9, mtime=0))
        elif what[0] == "link":
            os.symlink(what[1], target)
            continue
        elif what[0] == "elf":
            call(["strip", "--strip-unneeded", "--remove-section=.comment", "-o", target, what[1]])
        else:
            shutil.copyfile(what[1], target)
        os.chmod(target, mode)
    for path in package.folders:
        os.makedirs(os.path.join(folder, path), exist_ok=True)


def settle(folder, package, epoch):
    """Modes of folders and times of everything, last of all."""
    for place, folders, files in os.walk(folder):
        os.chmod(place, package.folders.get(os.path.relpath(place, folder), 0o755))
        for name in folders + files:
            os.utime(os.path.join(place, name), (epoch, epoch), follow_symlinks=False)
    os.utime(folder, (epoch, epoch))


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def library_packages(elves, folder):
    """Depends: of the libraries that programs load, as dpkg-shlibdeps knows them: "libc6 (>= 2.34), …"."""
    if not elves:
        return []
    os.makedirs(os.path.join(folder, "debian"))
    write(os.path.join(folder, "debian/control"), b"Source: dovetail\n\nPackage: dovetail\nArchitecture: any\n")
    said = call(["dpkg-shlibdeps", "-O", *[f"-e{path}" for path in elves]], cwd=folder)
    match = re.search(r"^shlibs:Depends=(.*)$", said, re.M)
    return match[1].split(", ") if match else []  # all of them are linked statically


def control(package, source, depends, size):
    fields = {"Package": package.name, "Source": "dovetail", "Version": source.version,
              "Architecture": package.architecture(source), "Maintainer": MAINTAINER, "Installed-Size": str(size),
              "Section": "admin", "Priority": "optional", **package.fields}
    if depends:
        fields["Depends"] = ", ".join(depends)
    text = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{text}Description: {package.summary}\n" + "".join(f" {line}\n" for line in textwrap.wrap(package.text, 76))


def build(package, source, out):
    """Makes the .deb in `out` and returns its path."""
    with tempfile.TemporaryDirectory(prefix="dove-package.") as work:
        tree = os.path.join(work, "tree")
        os.mkdir(tree)
        stage(package, tree)
        elves = [os.path.join(tree, path) for path, (what, _) in sorted(package.files.items())
                 if isinstance(what, tuple) and what[0] == "elf"]
        given = [word for word in package.fields.get("Depends", "").split(", ") if word]
        depends = sorted(library_packages(elves, os.path.join(work, "libraries")) + given) if elves else given
        sums, size = [], 0
        for place, folders, files in os.walk(tree):
            size += 1
            for name in files:
                path = os.path.join(place, name)
                if os.path.islink(path):
                    size += 1
                    continue
                size += -(-os.path.getsize(path) // BLOCK)
                with open(path, "rb") as file:
                    sums.append((os.path.relpath(path, tree), hashlib.md5(file.read()).hexdigest()))
        meta = os.path.join(tree, "DEBIAN")
        os.mkdir(meta)
        write(meta + "/control", control(package, source, depends, size).encode())
        write(meta + "/md5sums", "".join(f"{sum_}  {path}\n" for path, sum_ in sorted(sums)).encode())
        os.chmod(meta + "/control", 0o644)
        os.chmod(meta + "/md5sums", 0o644)
        for name, text in package.scripts.items():
            write(f"{meta}/{name}", text.encode())
            os.chmod(f"{meta}/{name}", 0o755)
        settle(tree, package, source.epoch)
        path = os.path.join(out, f"{package.name}_{source.version}_{package.architecture(source)}.deb")
        # Several threads would cut the stream into blocks by the machine's memory.
        call(["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", tree, path],
             env={**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch)})
    return path
