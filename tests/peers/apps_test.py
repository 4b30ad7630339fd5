#!/usr/bin/env python3
"""JupyterLab and TensorBoard as PyPI has them and code-server as npm has it, through `dove notebook`, `dove tensorboard` and
`dove code`: they answer on their sockets, behind a port of this machine. Skips where they are missing (`tools/peer_tools`);
with CI=true that is a failure."""
# limit_s: 180
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APPS = os.path.join(ROOT, "build/peer-apps/bin")
CODE = os.path.join(ROOT, "build/peer-code")
SKIP = 77

if __name__ == "__main__":
    if not os.path.exists(APPS + "/jupyter-lab") or not os.path.exists(CODE + "/ready"):
        print("skipped: JupyterLab or code-server is missing (tools/peer_tools)")
        sys.exit(SKIP)
    os.environ.update(JUPYTER=APPS + "/jupyter-lab", TENSORBOARD_PYTHON=APPS + "/tensorboard", CODE_SERVER=CODE + "/bin/code-server")
    sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
    import session_test
    names = ["SessionTest.test_the_real_jupyterlab", "SessionTest.test_the_real_tensorboard", "SessionTest.test_the_real_code_server"]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names, session_test))
    sys.exit(not (result.wasSuccessful() and result.testsRun == len(names) and not result.skipped))
