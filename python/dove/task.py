"""What an element of dove.map() runs: python3 -m dove.task FOLDER.

FOLDER is on the directory that submitter and nodes share, and is its submitter's alone:

    head            JSON: format, items, chunk, and where the submitter's Python finds modules
    function        the function (dove.carried)
    items, offsets  pickles of the items one behind the other, and where each begins: 8 bytes each, and the end
    results/N.done  the outcomes of element N, pickles of (it went well, a pickle), when all items went well
    results/N.failed  the same when one did not: read once the element has no further attempt

A result is renamed to its place when it is whole and on the disk. Ends with 0, with RAISED when an item raised, else
with what Python ends with.
"""
from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
import traceback
import types
import typing

from dove import carried

FORMAT = 1
RAISED = 70
OFFSET = struct.Struct("<Q")


def write_offset(file: typing.BinaryIO, offset: int) -> None:
    file.write(OFFSET.pack(offset))


def load_main(main: dict[str, str]) -> None:
    """The submitter's script as module __main__, as `multiprocessing` does it: not under that name."""
    module = types.ModuleType("__mp_main__")
    if "name" in main:
        spec = importlib.util.find_spec(main["name"])
        if spec is None or spec.loader is None:
            raise ImportError(f"there is no module {main['name']} here")
        code = spec.loader.get_code(main["name"])  # type: ignore[attr-defined]
        module.__package__, module.__file__ = spec.parent, spec.origin
    else:
        module.__file__ = main["path"]
        with open(main["path"], "rb") as file:
            code = compile(file.read(), main["path"], "exec")
    module.__dict__.update(__dove_main__=main, __dove_loading__=True)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    exec(code, module.__dict__)
    module.__dict__["__dove_loading__"] = False


def failure_of(error: BaseException) -> dict[str, typing.Any]:
    """An exception as the submitter gets it; itself only where it can be read again."""
    try:
        pickled: bytes | None = carried.dumps(error)
        carried.loads(pickled)  # type: ignore[arg-type]
    except Exception:  # any class may have a constructor that does not take what it keeps
        pickled = None
    text = str(error)
    name = type(error).__name__
    return {"message": f"{name}: {text}" if text else name, "exception": pickled,
            "traceback": "".join(traceback.format_exception(type(error), error, error.__traceback__)),
            "node": os.environ.get("DOVE_NODE", "")}


def _items(folder: str, first: int, last: int) -> typing.Iterator[bytes]:
    with open(os.path.join(folder, "offsets"), "rb") as file:
        file.seek(first * OFFSET.size)
        offsets = [OFFSET.unpack(file.read(OFFSET.size))[0] for _ in range(last - first + 1)]
    with open(os.path.join(folder, "items"), "rb") as file:
        file.seek(offsets[0])
        for begin, end in zip(offsets, offsets[1:]):
            yield file.read(end - begin)


def _outcome(function: typing.Callable[[typing.Any], typing.Any], item: bytes) -> tuple[bool, bytes]:
    try:
        return True, carried.dumps(function(carried.loads(item)))
    except Exception as error:  # the submitter's to judge
        return False, carried.dumps(failure_of(error))


def _function(folder: str, head: dict[str, typing.Any]) -> typing.Callable[[typing.Any], typing.Any]:
    sys.path[:] = [*head["path"], *(path for path in sys.path if path not in head["path"])]
    if head["main"] is not None:
        load_main(head["main"])
    with open(os.path.join(folder, "function"), "rb") as file:
        return carried.loads(file.read())


def run(folder: str, element: int) -> int:
    """Runs the items of one element; returns the exit code."""
    with open(os.path.join(folder, "head"), encoding="utf-8") as file:
        head = json.load(file)
    if head["format"] != FORMAT:
        print(f"dove.task: the folder is of format {head['format']}, this package reads {FORMAT}: agent and submitter "
              "have different versions of the package dove", file=sys.stderr)
        return 2
    first = element * head["chunk"]
    last = min(first + head["chunk"], head["items"])
    results = os.path.join(folder, "results")
    fresh = os.path.join(results, f".{element}.{os.environ.get('DOVE_ATTEMPT', '0')}.{os.getpid()}")
    is_good, failure, function = True, b"", None
    with open(fresh, "wb") as out:
        try:
            function = _function(folder, head)
        except Exception as error:  # in a module of the submitter: the failure of each item
            failure = carried.dumps(failure_of(error))
        for item in _items(folder, first, last):
            outcome = (False, failure) if function is None else _outcome(function, item)
            is_good = is_good and outcome[0]
            out.write(carried.dumps(outcome))
        out.flush()
        os.fsync(out.fileno())
    os.replace(fresh, os.path.join(results, f"{element}.{'done' if is_good else 'failed'}"))
    return 0 if is_good else RAISED


def main(arguments: list[str]) -> int:
    number = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if len(arguments) != 1 or not number.isdigit():
        print("dove.task: this is what dove.map() runs in its jobs; call that", file=sys.stderr)
        return 2
    if not os.path.isdir(arguments[0]):
        print(f"dove.task: {arguments[0]} is not here: give dove.map() a folder= that submitter and nodes share",
              file=sys.stderr)
        return 2
    return run(arguments[0], int(number))


if __name__ == "__main__":
    from dove.task import main as imported  # pickles name this module dove.task, not __main__

    sys.exit(imported(sys.argv[1:]))
