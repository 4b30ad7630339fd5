"""The bill of materials: an SPDX 2.3 document of our packages, what is compiled into them and what they need of Debian."""
import hashlib
import json
import os
import re
import time

from packaging import layout, seal
from packaging.installed import Installed, names_of, paragraphs
from packaging.source import ROOT, Refused, call

# Libraries of which programs hold code: those that have headers only, and those of programs that are linked statically.
COMPILED_IN = {"dovetail-cli": ("libboost1.81-dev", "nlohmann-json3-dev"),
               "dovetail-agent": ("libc6-dev", "libfmt-dev", "libgcc-12-dev", "libstdc++-12-dev")}
UNKNOWN = "NOASSERTION"


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(words))


def entry(id_, name, version, supplier, purl, licence=UNKNOWN, **more):
    return {"SPDXID": id_, "name": name, "versionInfo": version, "supplier": supplier, "downloadLocation": UNKNOWN,
            "filesAnalyzed": False, "licenseConcluded": UNKNOWN, "licenseDeclared": licence, "copyrightText": UNKNOWN,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
            **more}


def of_debian(name, installed):
    fields = installed.packages[name]
    licence, said = installed.licence(name)
    more = {"comment": "Debian's copyright file names: " + ", ".join(said)} if said and licence == UNKNOWN else {}
    purl = f"pkg:deb/debian/{name.replace('+', '%2B')}@{fields['Version'].replace('+', '%2B').replace(':', '%3A')}"
    return entry(spdx_id("Debian", name), name, fields["Version"], "Organization: Debian",
                 f"{purl}?arch={fields['Architecture']}&distro=debian-12", licence, **more)


def of_console():
    """The JavaScript packages whose code is in the console, from its lock file."""
    with open(os.path.join(ROOT, "console/package-lock.json"), encoding="utf-8") as file:
        locked = json.load(file)["packages"]
    for path, fields in sorted(locked.items()):
        if path and not fields.get("dev"):
            name = path.rpartition("node_modules/")[2]
            yield entry(spdx_id("npm", name), name, fields["version"], UNKNOWN,
                        f"pkg:npm/{name.replace('@', '%40')}@{fields['version']}", fields.get("license", UNKNOWN))


def document(source, debs):
    """The document as text. REQUIRES: what the packages depend on is installed here, since they were built here."""
    installed = Installed()
    packages, relations, todo = {}, [], []

    def add(package):
        packages[package["SPDXID"]] = package
        return package["SPDXID"]

    def relate(one, way, other):
        relations.append({"spdxElementId": one, "relationshipType": way, "relatedSpdxElement": other})

    own = {}
    for path in debs:
        (fields,) = paragraphs(call(["dpkg-deb", "--field", path]))
        own[fields["Package"]] = (fields, path)
    for name, (fields, path) in own.items():
        id_ = add(entry(spdx_id("Package", name), name, fields["Version"], "Organization: Dovetail",
                        f"pkg:deb/dovetail/{name}@{fields['Version'].replace('~', '%7E')}?arch={fields['Architecture']}",
                        layout.LICENCE, packageFileName=os.path.basename(path),
                        checksums=[{"algorithm": "SHA256", "checksumValue": seal.sha256(path)}]))
        relate("SPDXRef-DOCUMENT", "DESCRIBES", id_)
        for choices in names_of(fields.get("Depends", "")):
            if choices[0] in own:
                relate(id_, "DEPENDS_ON", spdx_id("Package", choices[0]))
                continue
            found = installed.find(choices)
            if not found:
                raise Refused(f"{name} needs {' or '.join(choices)}, which is not installed here: apt-get install {choices[0]}")
            relate(id_, "DEPENDS_ON", spdx_id("Debian", found))
            todo.append(found)
    seen = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        id_ = add(of_debian(name, installed))
        for needed in installed.needs(name):
            relate(id_, "DEPENDS_ON", spdx_id("Debian", needed))
            todo.append(needed)
    for holder, names in COMPILED_IN.items():
        for name in names:
            if name not in installed.packages:
                raise Refused(f"{name}, whose code is in {holder}, is not installed here: tools/setup build")
            relate(spdx_id("Package", holder), "CONTAINS", add(of_debian(name, installed)))
    for package in of_console():
        relate(spdx_id("Package", "dovetail-cli"), "CONTAINS", add(package))
    relations.sort(key=lambda relation: tuple(relation.values()))
    body = {"packages": [packages[id_] for id_ in sorted(packages)], "relationships": relations}
    mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source.epoch))
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"dovetail-{source.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/dovetail-{source.version}-{mark[:32]}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/packages"]}, **body}, indent=1) + "\n"
