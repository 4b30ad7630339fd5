#!/usr/bin/env python3
"""The web console's page for signing in with a password, in a real browser against a real `dove up` with a site's hook and passwords
of its own. Skips where the console was left out, or no chromium is."""
import os
import sys

from console_test import check_pages
from hooks import PASSWORD, make_program


def site_with_passwords(cluster):
    """Options of a server with a hook and with passwords of its own."""
    folder = os.path.join(cluster.folder, "hook")
    os.mkdir(folder, 0o700)
    return ["--sign-in-hook", make_program(folder), "--local-passwords"]


if __name__ == "__main__":
    sys.exit(check_pages("passwords.mjs", site_with_passwords, nodes=1, gpus=1, limit_s=120,
                         prepare=lambda url, ann: {"DOVE_HOOK_PASSWORD": PASSWORD}))
