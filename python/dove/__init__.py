"""Dovetail from Python: jobs are submitted and watched, functions are mapped over items, and a job says how far it is.

    submit, job, jobs, Client, Job     jobs (dove.client)
    map, Results                       a function over items, as an array of jobs (dove.array_map)
    Executor                           the same as concurrent.futures has it (dove.executor)
    checkpoint, progress, once         what a job says and asks, from inside
    collective_failed                  a collective with these ranks failed (dove.progress)

Standard library only. Every job finds this package in its PYTHONPATH; outside of a job checkpoint and progress work and
are told to nobody.
"""
import importlib

from dove import checkpoint, progress
from dove.progress import collective_failed

# Found when they are first used: a task that only tells its progress loads no HTTP client.
_HOMES = {
    "client": ("Client", "DoveWarning", "Job", "Reason", "job", "jobs", "submit"),
    "array_map": ("Results", "map"),
    "errors": ("ApiError", "DoveError", "TaskError", "TimedOut", "Unreachable"),
    "executor": ("Executor",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["checkpoint", "collective_failed", "progress", *_HOME_OF]


def __getattr__(name):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dove' has no attribute {name!r}")
    return getattr(importlib.import_module("dove." + _HOME_OF[name]), name)


def __dir__():
    return sorted(__all__)
