"""The container image: our packages on what is essential of Debian 12, as an OCI archive that runs the controller.

mmdebstrap installs the packages into a root, of which the image has one layer; umoci writes the image around it. The same packages
and the same Debian give the same bytes: times are the commit's, and what a machine leaves of itself is not taken along.
"""
import json
import os
import shutil
import tarfile
import tempfile
import time

from packaging import bundle, layout, spdx
from packaging.source import Refused, call

LIMIT_S = 900
WANTED = ("dovetail-cli", "dovetail-server", "ca-certificates")
# A number that never changes: files in volumes belong to it.
USER, USER_ID = "dove", 7717
DATA = "/var/lib/dove/server"
NAME = "dovetail"
# What an installed root has of this machine, of apt or of a kernel.
LEFT_OUT = ("dev", "proc", "sys", "run", "tmp", "etc/apt", "var/cache", "var/lib/apt", "var/log")
LEFT_OUT_FILES = ("etc/apt", "etc/dpkg/dpkg.cfg.d/99mmdebstrap", "etc/hostname", "etc/resolv.conf")
EXCLUDED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
PEOPLE = f"{USER}:x:{USER_ID}:{USER_ID}:Dovetail controller:/var/lib/dove:/usr/sbin/nologin"


def tag_of(source):
    """The version, in the letters that a tag may have."""
    return source.version.replace("~", "-").replace("+", "-")


def make_root(source, debs, work, cache):
    """The tar file of a root in which the packages are installed."""
    folder, kept = os.path.join(work, "debs"), os.path.join(cache, "image-debs")
    os.mkdir(folder)
    os.makedirs(kept, exist_ok=True)
    for path in debs:
        shutil.copy(path, folder)
    bundle.write_index(folder, source.epoch)
    path = os.path.join(work, "root.tar")
    # What is merged from the start needs no program that merges it, and no Perl for that.
    merged = ['for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name" && ln -s usr/$name "$1/$name"; done',
              'mkdir -p "$1/etc/apt/preferences.d"',
              'printf "Package: usrmerge\\nPin: release *\\nPin-Priority: -1\\n" > "$1/etc/apt/preferences.d/merged"']
    hooks = [*[f"--setup-hook={command}" for command in merged],
             f'--setup-hook=mkdir -p "$1/var/cache/apt/archives" && cp -a "{kept}/." "$1/var/cache/apt/archives/"',
             f'--essential-hook=echo "{PEOPLE}" >> "$1/etc/passwd" && echo "{USER}:x:{USER_ID}:" >> "$1/etc/group"',
             f'--customize-hook=find "$1/var/cache/apt/archives" -name "*.deb" ! -name "*dovetail*" -exec cp -n -t "{kept}" {{}} +']
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
    options += ["--dpkgopt=path-include=/usr/share/doc/*/copyright", "--dpkgopt=force-unsafe-io"]
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    call([*apart, "mmdebstrap", "--quiet", "--variant=essential", "--skip=essential/unlink", f"--include={','.join(WANTED)}", *options,
          *hooks, "bookworm", path, *[source_ for source_ in bundle.SOURCES if os.path.exists(source_)],
          f"deb [trusted=yes] copy:{folder} ./"], LIMIT_S,
         env={**os.environ, "TMPDIR": work, "SOURCE_DATE_EPOCH": str(source.epoch)})
    return path


def is_left_out(name):
    return any(name.startswith(folder + "/") for folder in LEFT_OUT) or name in LEFT_OUT_FILES


def write_layer(root, path, epoch):
    """The root without what is of this machine. Nothing in it gives anybody the rights of somebody else."""
    with tarfile.open(root) as have, tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as layer:
        for member in have:
            name = os.path.normpath(member.name)
            if is_left_out(name) or not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
                continue
            member.name = name
            if member.islnk():
                member.linkname = os.path.normpath(member.linkname)
            if not member.isdir():
                member.mode &= ~0o6000
            member.mtime = min(int(member.mtime), epoch)
            member.pax_headers = {}
            layer.addfile(member, have.extractfile(member) if member.isfile() else None)


def write_archive(folder, path, epoch):
    """The OCI layout as one file."""
    with tarfile.open(path + ".new", "w", format=tarfile.PAX_FORMAT) as tar:
        for place, folders, files in os.walk(folder):
            folders.sort()
            for name in sorted(folders + files):
                whole = os.path.join(place, name)
                member = tarfile.TarInfo(os.path.relpath(whole, folder))
                member.mtime = epoch
                if os.path.isdir(whole):
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(member)
                    continue
                with open(whole, "rb") as file:
                    member.size, member.mode = os.path.getsize(whole), 0o644
                    tar.addfile(member, file)
    os.rename(path + ".new", path)


def write_layout(source, layer, folder):
    """The image around its layer. Returns the digest of its manifest."""
    tag, created = tag_of(source), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source.epoch))
    image = ["--image", f"{folder}:{tag}"]
    call(["umoci", "init", "--layout", folder])
    call(["umoci", "new", *image])
    call(["umoci", "raw", "add-layer", *image, "--history.created", created, "--history.created_by", "tools/packages image", layer],
         LIMIT_S)
    labels = {"title": NAME, "version": source.version, "licenses": layout.LICENCE, "created": created,
              "description": "scheduler for shared GPU machines: the controller and the command"}
    if source.commit:
        labels["revision"] = source.commit
    config = {"user": f"{USER_ID}:{USER_ID}", "workingdir": "/var/lib/dove", "volume": DATA, "stopsignal": "SIGTERM"}
    several = {"entrypoint": ["/usr/bin/dove"], "cmd": ["server", "--data", DATA, "--host", "0.0.0.0"],
               "exposedports": ["7717/tcp", "7718/tcp"],
               "env": ["PATH=/usr/bin:/bin", f"DOVE_DATA={DATA}", "LANG=C.UTF-8"],
               "label": [f"org.opencontainers.image.{name}={value}" for name, value in sorted(labels.items())]}
    words = [f"--config.{name}={value}" for name, value in config.items()]
    words += [f"--config.{name}={value}" for name, values in several.items() for value in values]
    call(["umoci", "config", *image, *words, "--os=linux", f"--architecture={source.architecture}", f"--created={created}",
          "--no-history"])
    call(["umoci", "gc", "--layout", folder])
    index = os.path.join(folder, "index.json")
    with open(index, encoding="utf-8") as file:
        said = json.load(file)
    (manifest,) = said["manifests"]
    # What podman and docker call it once it is loaded.
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"{NAME}:{tag}",
                               "io.containerd.image.name": f"docker.io/library/{NAME}:{tag}"}
    with open(index, "w", encoding="utf-8") as file:
        json.dump(said, file, indent=1, sort_keys=True)
    return manifest["digest"]


def contents(root, folder):
    """What dpkg knows of the root, and the copyright files, below a folder."""
    os.mkdir(folder)
    with tarfile.open(root) as tar:
        for member in tar:
            name = os.path.normpath(member.name)
            if name == "var/lib/dpkg/status" or name.startswith("usr/share/doc/"):
                member.name = name
                tar.extract(member, folder, set_attrs=False, filter="data")
    return folder


def make(source, debs, out, cache):
    """Writes the archive and its SPDX document into `out`."""
    if call(["dpkg", "--print-architecture"]).strip() != source.architecture:
        raise Refused("an image is made on a machine of its own architecture")
    if os.geteuid() != 0:
        raise Refused("only root can make an image: mmdebstrap installs into a root of its own")
    with tempfile.TemporaryDirectory(prefix="dove-image.") as work:
        os.chmod(work, 0o755)
        root = make_root(source, debs, work, cache)
        layer, folder = os.path.join(work, "layer.tar"), os.path.join(work, "layout")
        write_layer(root, layer, source.epoch)
        digest = write_layout(source, layer, folder)
        path = os.path.join(out, f"dovetail-image_{source.version}_{source.architecture}.tar")
        write_archive(folder, path, source.epoch)
        document = spdx.document_of_image(source, path, digest, contents(root, os.path.join(work, "known")))
    with open(os.path.join(out, f"dovetail-image_{source.version}.spdx.json"), "w", encoding="utf-8") as file:
        file.write(document)
