"""Which packages there are, and what is in each. Names of files are those that deploy/systemd and the guides use.

All of them need dovetail-cli of the same version: `dove` is one program. It lies in /usr/lib/dovetail with its companions,
which it finds beside itself; /usr/bin/dove leads there.
"""
import email.utils
import os
import re

from packaging.source import ROOT, read

HOME = "usr/lib/dovetail"
UNITS = "lib/systemd/system"
MODULES = "usr/lib/python3/dist-packages"
MAINTAINER = os.environ.get("DOVE_MAINTAINER", "The Dovetail project <dovetail@localhost>")
# Units of each package, with the settings without which they do not start.
SERVER_UNITS = {"dove-server": "server.yaml", "dove-proxy": "proxy.yaml", "dove-ssh-gateway": "ssh-gateway.yaml",
                "dove-slurm": "slurm.yaml", "dove-backup": "backup.env"}
AGENT_UNITS = {"dove-agent": "agent.yaml"}

PAGES = ("decisions", "guide", "operate")  # of docs, which messages and manual pages name

COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Dovetail

Files: *
Copyright: the authors of Dovetail
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
"""
LICENCE = "Apache-2.0"  # the file LICENSE of the source tree, as SPDX names it


class Package:
    """What dpkg is told about a package, and its files: {path: (what, mode)} with bytes, ("file", path), ("elf", path) or
    ("link", target)."""

    def __init__(self, name, summary, text, **fields):
        self.name, self.summary, self.text, self.fields = name, summary, text, fields
        self.files, self.folders, self.scripts = {}, {}, {}

    def put(self, path, what, mode=0o644):
        self.files[path] = (what, mode)

    def put_text(self, path, text, mode=0o644):
        self.put(path, text.encode(), mode)

    def put_tree_file(self, path, source):
        file = os.path.join(ROOT, source)
        self.put(path, ("file", file), 0o755 if os.access(file, os.X_OK) else 0o644)

    def put_program(self, source, name):
        self.put(f"{HOME}/{name}", ("elf", source.program(name)), 0o644 if name.endswith(".so") else 0o755)

    def put_units(self, units):
        for unit, settings in sorted(units.items()):
            self.put_tree_file(f"{UNITS}/{unit}.service", f"deploy/systemd/{unit}.service")
            self.put_text(f"{UNITS}/{unit}.service.d/configured.conf",
                          f"# A unit that nobody has configured does not start.\n[Unit]\n"
                          f"ConditionPathExists=/etc/dove/{settings}\n")

    def architecture(self, source):
        has_programs = any(isinstance(what, tuple) and what[0] == "elf" for what, _ in self.files.values())
        return self.fields.get("Architecture") or (source.architecture if has_programs else "all")


def pages():
    return [f"docs/{folder}/{name}" for folder in PAGES for name in sorted(os.listdir(os.path.join(ROOT, "docs", folder)))]


def cli(source):
    package = Package("dovetail-cli", "scheduler for shared GPU machines: the command",
                      "Dovetail decides which job gets which cores and GPUs, on which nodes and when. This package has"
                      " the program dove with all its commands, its manual pages, its guides and completions. The controller and"
                      " the agent of a node need dovetail-server and dovetail-agent, `dove up` the latter.",
                      Suggests="dovetail-agent, python3-dovetail", Recommends="ca-certificates, openssh-client")
    package.put_program(source, "dove")
    package.put("usr/bin/dove", ("link", "../lib/dovetail/dove"))
    for page in ["", *source.commands()]:
        text = source.dove("man", *([page] if page else []))
        title = re.match(r"\.TH (\S+) ", text)[1].replace("\\", "").lower()
        package.put(f"usr/share/man/man1/{title}.1.gz", ("packed", text.encode()))
    for shell, path in (("bash", "usr/share/bash-completion/completions/dove"), ("zsh", "usr/share/zsh/vendor-completions/_dove"),
                        ("fish", "usr/share/fish/vendor_completions.d/dove.fish")):
        package.put_text(path, source.dove("completion", shell))
    for path in pages():
        package.put_tree_file(f"usr/share/doc/dovetail-cli/{path}", path)
    return package


def server(source):
    package = Package("dovetail-server", "scheduler for shared GPU machines: the controller",
                      "The controller of a cluster, with the proxy of sessions, the SSH gateway and the adapter beside a"
                      " Slurm. The controller starts once /etc/dove/server.yaml exists.",
                      Depends=f"adduser, dovetail-cli (= {source.version})", Suggests="postgresql, prometheus")
    package.put_units(SERVER_UNITS)
    package.put_tree_file("usr/lib/sysusers.d/dove.conf", "deploy/systemd/dove.conf")
    examples = "usr/share/doc/dovetail-server/examples"
    for folder in ("boot", "grafana", "ha", "prometheus", "sign_in", "slurm", "tls"):
        for name in sorted(os.listdir(os.path.join(ROOT, "deploy", folder))):
            package.put_tree_file(f"{examples}/{folder}/{name}", f"deploy/{folder}/{name}")
    package.put_tree_file(f"{examples}/dove-slurm-jobs.conf", "deploy/systemd/dove-slurm-jobs.conf")
    package.put_tree_file(f"{examples}/server.yaml", "deploy/debian/server.yaml")
    package.folders.update({"etc/dove": 0o755, "var/lib/dove": 0o755})
    return package


def agent(source):
    package = Package("dovetail-agent", "scheduler for shared GPU machines: a node's agent",
                      "Runs the jobs of a Dovetail cluster on this machine. The agent starts once /etc/dove/agent.yaml"
                      " exists. An upgrade leaves running tasks alone.",
                      Depends=f"dovetail-cli (= {source.version})",
                      Recommends="iproute2, nftables, runc | crun, umoci, skopeo, squashfs-tools, python3",
                      Suggests="python3-dovetail")
    for name in ("dove-shim", "dove-contain", "dove-sftp", "libdove-share.so"):
        package.put_program(source, name)
    package.put_units(AGENT_UNITS)
    package.put_tree_file("usr/share/doc/dovetail-agent/examples/agent.yaml", "deploy/debian/agent.yaml")
    package.folders.update({"etc/dove": 0o755, "var/lib/dove": 0o755})
    return package


def python(source):
    project = dict(re.findall(r'^(name|version|description|requires-python) = "(.*)"$', read("python/pyproject.toml"), re.M))
    package = Package("python3-dovetail", "scheduler for shared GPU machines: jobs from Python",
                      "The module dove submits jobs and watches them, runs functions as jobs, and inside of jobs reports"
                      " progress and checkpoints. It uses Python's standard library alone.",
                      Architecture="all", Section="python", Depends="python3:any (>= 3.9)", Provides="python3-dove")
    folder = os.path.join(ROOT, "python/dove")
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".typed")):
            package.put_tree_file(f"{MODULES}/dove/{name}", f"python/dove/{name}")
    info = f"{MODULES}/{project['name']}-{project['version']}.dist-info"
    package.put_text(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
                     f"Summary: {project['description']}\nRequires-Python: {project['requires-python']}\n")
    package.put_text(f"{info}/INSTALLER", "debian\n")
    return package


def maintainer_scripts(package):
    for script in ("postinst", "prerm", "postrm"):
        path = f"deploy/debian/{package.name}.{script}"
        if os.path.exists(os.path.join(ROOT, path)):
            package.scripts[script] = read(path)


def packages(source):
    found = [cli(source), server(source), agent(source), python(source)]
    for package in found:
        documents = f"usr/share/doc/{package.name}"
        package.put_text(f"{documents}/copyright", COPYRIGHT)
        package.put(f"{documents}/changelog.gz", ("packed", changelog(source).encode()))
        maintainer_scripts(package)
    return found


def changelog(source):
    commit = f"commit {source.commit}" if source.commit else "a tree without a repository"
    date = email.utils.formatdate(source.epoch)
    return f"dovetail ({source.version}) bookworm; urgency=medium\n\n  * Built from {commit}.\n\n -- {MAINTAINER}  {date}\n"
