"""The offline bundle: our packages, and those of Debian that a bare Debian 12 lacks for them, in one tar file.

A bare Debian is what debootstrap's minimal variant has: the essential and required packages, and apt. Packages are fetched by
apt from this machine's Debian sources, with lists of their own, so that other sources and what is installed here play no part.
"""
import email.utils
import os
import re
import shutil
import tarfile
import tempfile

from packaging import seal
from packaging.installed import names_of, paragraphs
from packaging.source import ROOT, Refused, call

SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources")
LIMIT_S = 900


class Apt:
    """apt as on a machine on which nothing is installed."""

    def __init__(self, cache):
        self.cache = cache
        for folder in ("lists/partial", "archives/partial", "sources", "debs"):
            os.makedirs(os.path.join(cache, folder), exist_ok=True)
        open(os.path.join(cache, "status"), "w").close()
        for path in SOURCES:
            if os.path.exists(path):
                name = "main.list" if path.endswith(".list") else os.path.basename(path)
                shutil.copyfile(path, os.path.join(cache, "sources", name))
        settings = {"Dir::State": cache, "Dir::State::status": cache + "/status", "Dir::State::lists": cache + "/lists",
                    "Dir::State::extended_states": cache + "/extended_states", "Dir::Cache": cache, "Dir::Etc::sourcelist": "/dev/null",
                    "Dir::Etc::sourceparts": cache + "/sources", "Dir::Etc::preferencesparts": "/dev/null",
                    "APT::Sandbox::User": "root", "APT::Install-Recommends": "false", "Acquire::Languages": "none",
                    "Debug::NoLocking": "true"}
        self.options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def run(self, program, *words, **more):
        return call([program, *self.options, *words], LIMIT_S, **more)

    def update(self):
        self.run("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Retries=3", "update")
        self.available = {}
        for fields in paragraphs(self.run("apt-cache", "dumpavail")):
            self.available.setdefault(fields["Package"], fields)

    def would_install(self, *what):
        """{package: version} of what apt would install."""
        said = self.run("apt-get", "-s", "-y", "install", *what)
        return dict(re.findall(r"^Inst (\S+) \((\S+)", said, re.M))

    def source_of(self, name):
        return self.available[name].get("Source", name).split(" ")[0]

    def fetch(self, packages, folder):
        """Copies of the packages {name: version} in `folder`; what the cache holds is not fetched again."""
        debs = self.cache + "/debs"
        self.run("apt-get", "-qq", "download", *[f"{name}={version}" for name, version in sorted(packages.items())], cwd=debs)
        for name, version in packages.items():
            (found,) = [file for file in os.listdir(debs) if file.startswith(f"{name}_{version.replace(':', '%3a')}_")]
            shutil.copyfile(os.path.join(debs, found), os.path.join(folder, re.sub(r"_\d+%3a", "_", found)))


def needed_packages(apt, debs):
    """{package: version} of what a bare Debian lacks for all of ours, with what ours recommend."""
    bare = apt.would_install(*sorted(name for name, fields in apt.available.items()
                                     if fields.get("Essential") == "yes" or fields.get("Priority") == "required"), "apt")
    recommended = []
    for path in debs:
        (fields,) = paragraphs(call(["dpkg-deb", "--field", path]))
        recommended += [choices[0] for choices in names_of(fields.get("Recommends", ""))]
    own = {os.path.basename(path).split("_")[0] for path in debs}
    wanted = apt.would_install(*bare, *sorted(set(recommended) - own), *debs)
    lacking = {name for name in wanted if name not in bare and name not in own}
    # Packages of one source often want each other's very version, which a bare Debian of another day may not have.
    sources = {apt.source_of(name) for name in lacking}
    lacking |= {name for name in bare if apt.source_of(name) in sources}
    return {name: wanted[name] for name in lacking}


def write_index(folder, epoch):
    """Packages and Release: what apt reads of a folder of .debs."""
    index = os.path.join(folder, "Packages")
    with open(index, "w", encoding="utf-8") as file:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".deb"):
                path = os.path.join(folder, name)
                file.write(call(["dpkg-deb", "--field", path]).strip() + f"\nFilename: ./{name}\n"
                           f"Size: {os.path.getsize(path)}\nSHA256: {seal.sha256(path)}\n\n")
    with open(os.path.join(folder, "Release"), "w", encoding="utf-8") as file:
        file.write(f"Origin: Dovetail\nDate: {email.utils.formatdate(epoch)}\n"
                   f"SHA256:\n {seal.sha256(index)} {os.path.getsize(index)} Packages\n")


def write_tar(folder, path, epoch):
    """The same files give the same bytes."""
    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = epoch
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member
    with tarfile.open(path + ".new", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(folder, os.path.basename(folder), recursive=False, filter=plain)
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), f"{os.path.basename(folder)}/{name}", filter=plain)
    os.rename(path + ".new", path)


def make(source, debs, out, cache):
    if call(["dpkg", "--print-architecture"]).strip() != source.architecture:
        raise Refused("a bundle is made on a machine of its own architecture")
    apt = Apt(cache)
    apt.update()
    packages = needed_packages(apt, debs)
    name = f"dovetail-offline_{source.version}_{source.architecture}"
    with tempfile.TemporaryDirectory(prefix="dove-bundle.") as work:
        folder = os.path.join(work, name)
        os.mkdir(folder)
        apt.fetch(packages, folder)
        for file in os.listdir(out):
            if file.endswith((".deb", ".spdx.json")):
                shutil.copyfile(os.path.join(out, file), os.path.join(folder, file))
        write_index(folder, source.epoch)
        shutil.copyfile(os.path.join(ROOT, "deploy/debian/install"), os.path.join(folder, "install"))
        os.chmod(os.path.join(folder, "install"), 0o755)
        seal.seal(folder)
        write_tar(folder, os.path.join(out, name + ".tar"), source.epoch)
    print(f"packages: the bundle has {len(packages)} packages of Debian")
