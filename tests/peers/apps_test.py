#!/usr/bin/env python3
"""JupyterLab and TensorBoard as PyPI has them, through `dove notebook` and `dove tensorboard`: they answer on their sockets,
behind a port of this machine. Skips where they are missing (`tools/peer_tools`); with CI=true that is a failure."""
# limit_s: 180
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APPS = os.path.join(ROOT, "build/peer-apps/bin")
SKIP = 77

if __name__ == "__main__":
    if not os.path.exists(APPS + "/jupyter-lab"):
        print("skipped: JupyterLab is missing (tools/peer_tools)")
        sys.exit(SKIP)
    os.environ.update(JUPYTER=APPS + "/jupyter-lab", TENSORBOARD_PYTHON=APPS + "/tensorboard")
    sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
    import session_test
    names = ["SessionTest.test_the_real_jupyterlab", "SessionTest.test_the_real_tensorboard"]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names, session_test))
    sys.exit(not (result.wasSuccessful() and result.testsRun == len(names) and not result.skipped))
