"""What dpkg knows about this machine, or a root in a folder: which package of Debian in which version, what it needs, under which licence."""
import os
import re

STATUS = "var/lib/dpkg/status"
# As copyright files of Debian name licences, and as SPDX does. Others stay NOASSERTION.
SPDX_NAMES = {
    "apache-2.0": "Apache-2.0", "artistic": "Artistic-1.0-Perl", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "bsl-1.0": "BSL-1.0", "boost-1.0": "BSL-1.0", "cc0-1.0": "CC0-1.0", "curl": "curl", "expat": "MIT", "fsfap": "FSFAP",
    "gpl-1": "GPL-1.0-only", "gpl-1+": "GPL-1.0-or-later", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "isc": "ISC", "lgpl-2": "LGPL-2.0-only", "lgpl-2+": "LGPL-2.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3": "LGPL-3.0-only", "lgpl-3+": "LGPL-3.0-or-later",
    "mit": "MIT", "mpl-1.1": "MPL-1.1", "mpl-2.0": "MPL-2.0", "openldap-2.8": "OLDAP-2.8", "openssl": "OpenSSL", "zlib": "Zlib",
    "x11": "X11",
}


def paragraphs(text):
    """The paragraphs of a control file: [{field: value}]; a field of several lines keeps its line ends."""
    for block in re.split(r"\n\s*\n", text):
        fields, last = {}, None
        for line in block.splitlines():
            if line[:1] in (" ", "\t") and last:
                fields[last] += "\n" + line.strip()
            elif ":" in line and not line.startswith("#"):
                last, _, value = line.partition(":")
                fields[last] = value.strip()
        if fields:
            yield fields


def names_of(relation):
    """"libc6 (>= 2.34) | libc, python3:any" as [["libc6", "libc"], ["python3"]]."""
    return [[re.split(r"[\s(:\[]", choice.strip(), maxsplit=1)[0] for choice in part.split("|")]
            for part in relation.split(",") if part.strip()]


class Installed:
    def __init__(self, root="/"):
        self.root = root
        with open(os.path.join(root, STATUS), encoding="utf-8") as file:
            self.packages = {fields["Package"]: fields for fields in paragraphs(file.read())
                             if fields.get("Status", "").endswith(" installed")}
        self.providers = {}
        for name, fields in sorted(self.packages.items()):
            for words in names_of(fields.get("Provides", "")):
                self.providers.setdefault(words[0], name)

    def find(self, choices):
        """The installed package that meets a dependency, or None."""
        for choice in choices:
            if choice in self.packages:
                return choice
            if choice in self.providers:
                return self.providers[choice]
        return None

    def needs(self, name):
        fields = self.packages[name]
        relations = names_of(fields.get("Pre-Depends", "")) + names_of(fields.get("Depends", ""))
        return sorted({found for found in map(self.find, relations) if found and found != name})

    def licence(self, name):
        """(SPDX expression or "NOASSERTION", Debian's names) of the package's copyright file, where a machine can read it."""
        try:
            with open(os.path.join(self.root, f"usr/share/doc/{name}/copyright"), encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            return "NOASSERTION", []
        if "copyright-format/1.0" not in text.split("\n\n", 1)[0]:
            return "NOASSERTION", []
        lines = {fields["License"].split("\n")[0].strip() for fields in paragraphs(text)
                 if "Files" in fields and fields.get("License")}
        known, names = set(), sorted(line for line in lines if line)
        for name_ in names:
            spdx = [SPDX_NAMES.get(word.lower()) for word in re.split(r"\s+(?:and|or)\s+", name_)]
            if None in spdx:
                return "NOASSERTION", names
            way = " OR " if " or " in name_ else " AND "
            if " or " in name_ and " and " in name_:
                return "NOASSERTION", names
            known.add(spdx[0] if len(spdx) == 1 else "(" + way.join(spdx) + ")")
        return (" AND ".join(sorted(known)) if known else "NOASSERTION"), names
