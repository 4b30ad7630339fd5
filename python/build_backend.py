"""Builds the wheel of the package dove with the standard library alone (PEP 517), so that pip needs no network.

    python3 -m pip install ./python

pip calls build_wheel() and build_editable(). Name, version and the rest are those of pyproject.toml.
"""
import base64
import csv
import hashlib
import io
import os
import re
import zipfile

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = "dove"
_DATE = (2026, 1, 1, 0, 0, 0)  # the same tree gives the same wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = os.path.join(_HERE, _PACKAGE)
    names = sorted(name for name in os.listdir(folder) if name.endswith((".py", ".typed")))
    files = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            files[f"{_PACKAGE}/{name}"] = file.read()
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {f"__editable__.{_PACKAGE}.pth": (_HERE + "\n").encode()})


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def _field(name):
    with open(os.path.join(_HERE, "pyproject.toml"), encoding="utf-8") as file:
        return re.search(rf'^{name} = "(.*)"$', file.read(), re.M)[1]


def _write(directory, files):
    version = _field("version")
    info = f"{_PACKAGE}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": (f"Metadata-Version: 2.1\nName: {_PACKAGE}\nVersion: {version}\n"
                             f"Summary: {_field('description')}\n"
                             f"Requires-Python: {_field('requires-python')}\n"
                             f"License: {_field('license')}\n").encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: dove\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        lines.writerow([name, f"sha256={digest}", len(text)])
    lines.writerow([f"{info}/RECORD", "", ""])
    files[f"{info}/RECORD"] = record.getvalue().encode()
    wheel = f"{_PACKAGE}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    return wheel
