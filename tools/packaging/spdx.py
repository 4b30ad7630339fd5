"""The bill of materials, in SPDX 2.3: a document of our packages, what is compiled into them and what they need of Debian; and one
of the container image."""
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


def of_ours(fields, **more):
    name, version = fields["Package"], fields["Version"]
    return entry(spdx_id("Package", name), name, version, "Organization: Dovetail",
                 f"pkg:deb/dovetail/{name}@{version.replace('~', '%7E')}?arch={fields['Architecture']}", layout.LICENCE, **more)


def file_of(path):
    return {"packageFileName": os.path.basename(path), "checksums": [{"algorithm": "SHA256", "checksumValue": seal.sha256(path)}]}


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
        id_ = add(of_ours(fields, **file_of(path)))
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
    return written(source, f"dovetail-{source.version}", packages, relations)


def document_of_image(source, path, digest, root):
    """What the image of that archive holds; `root` has its dpkg's records and the copyright files. The digest is its manifest's."""
    installed = Installed(root)
    image = entry(spdx_id("Image", "dovetail"), "dovetail", source.version, "Organization: Dovetail",
                  f"pkg:oci/dovetail@{digest.replace(':', '%3A')}?arch={source.architecture}", layout.LICENCE,
                  primaryPackagePurpose="CONTAINER", **file_of(path))
    packages = {image["SPDXID"]: image}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": image["SPDXID"]}]
    for name, fields in installed.packages.items():
        package = of_ours(fields) if fields.get("Source", "").split(" ")[0] == "dovetail" else of_debian(name, installed)
        packages[package["SPDXID"]] = package
        relations.append({"spdxElementId": image["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": package["SPDXID"]})
    return written(source, f"dovetail-image-{source.version}", packages, relations)


def written(source, name, packages, relations):
    relations.sort(key=lambda relation: tuple(relation.values()))
    body = {"packages": [packages[id_] for id_ in sorted(packages)], "relationships": relations}
    mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source.epoch))
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{mark[:32]}",
        "creationInfo": {"created": created, "creators": ["Tool: tools/packages"]}, **body}, indent=1) + "\n"
