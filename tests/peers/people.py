"""Linux users of a test's own, which go with it. Their names hold the pid, for tests run beside one another."""
import os
import subprocess
import time

LOCKED = 1  # what useradd and userdel say while another one runs


def person(number):
    return f"dove{number}-{os.getpid()}"


def call(*command):
    for _ in range(100):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != LOCKED:
            break
        time.sleep(0.1)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr}")


def add_people(test_class, names, home="/tmp"):
    for name in names:
        call("useradd", "-M", "-N", "-s", "/bin/sh", "-d", home, name)
        test_class.addClassCleanup(call, "userdel", name)
