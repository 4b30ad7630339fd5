"""Pickles of functions for another process: by name where it can import them, else with their code.

A function of a module is pickled by its name. One of the script that runs or of an interactive session, a lambda and a nested
function go as compiled code, with their defaults, the variables of the functions around them, and copies of the globals
of the script that they use; functions in one pickle share these. Compiled code is for the same Python, 3.11 say, at
both ends. A class of the script is pickled by its name: then the task loads the script.
"""
from __future__ import annotations

import dis
import functools
import importlib
import io
import marshal
import os
import pickle
import sys
import types
import typing

from dove.errors import DoveError

_VERSION = sys.version_info[:2]
_MAIN = ("__main__", "__mp_main__")


def main_of_this() -> dict[str, str] | None:
    """How a task loads the script that runs here: {"name": module} or {"path": file}; None: an interactive session."""
    main = sys.modules["__main__"]
    if getattr(main, "__dove_main__", None):
        return main.__dove_main__
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m; a program such as pytest is no script of its user
        return None if spec.name.endswith("__main__") else {"name": spec.name}
    path = getattr(main, "__file__", None)
    return {"path": os.path.abspath(path)} if path and path.endswith((".py", ".pyw")) else None


def names_main(text: bytes) -> bool:
    """Whether a pickle refers to the script."""
    return b"_main__" in text


def dumps(value: typing.Any) -> bytes:
    """The value's pickle. Raises DoveError `not_picklable`, which says what of it cannot be sent, and the remedy."""
    text = io.BytesIO()
    try:
        _Pickler(text, protocol=4).dump(value)
    except DoveError:
        raise
    except Exception as error:  # what __reduce__ of anybody's class raises
        raise DoveError("not_picklable", f"{_shown(value)} cannot be sent: {error or type(error).__name__}",
                        remedy="tasks get copies: pass files by their path, and make connections, locks and open files "
                        "inside the function") from error
    return text.getvalue()


def loads(text: bytes) -> typing.Any:
    """The value of a pickle of dumps(). Only for pickles of the caller's own: others may do anything."""
    return pickle.loads(text)


def _shown(value: typing.Any) -> str:
    return getattr(value, "__qualname__", None) or f"a {type(value).__name__}"


class _Pickler(pickle.Pickler):
    def __init__(self, file: typing.BinaryIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self._space: dict[str, typing.Any] = {}  # arrives as one: the globals of the script's functions

    def reducer_override(self, value: typing.Any) -> typing.Any:
        if isinstance(value, types.FunctionType):
            return NotImplemented if _is_importable(value) else _carry(value, self._space)
        if isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, type) and ("<locals>" in value.__qualname__
                                        or (value.__module__ in _MAIN and main_of_this() is None)):
            raise DoveError("not_picklable", f"the class {value.__qualname__} cannot be sent: the task could not import it",
                            remedy="put it at the top level of a file, or of a module beside it")
        return NotImplemented


def _is_importable(function: types.FunctionType) -> bool:
    """Whether the task finds this very function by its name."""
    if function.__module__ in _MAIN:
        return False
    try:
        return functools.reduce(getattr, function.__qualname__.split("."), sys.modules[function.__module__]) is function
    except (AttributeError, KeyError):
        return False


def _globals_used(code: types.CodeType) -> set[str]:
    names = {each.argval for each in dis.get_instructions(code) if "GLOBAL" in each.opname or each.opname == "LOAD_NAME"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_used(constant)
    return names


def _carry(function: types.FunctionType, space: dict[str, typing.Any]) -> tuple:
    code, home = function.__code__, function.__module__
    module = sys.modules.get(home)
    has_home = home not in _MAIN and module is not None and module.__dict__ is function.__globals__
    state = {name: getattr(function, name) for name in
             ("__name__", "__qualname__", "__defaults__", "__kwdefaults__", "__doc__", "__dict__")}
    cells = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not set yet
            pass
    own = {} if has_home else {name: function.__globals__[name] for name in sorted(_globals_used(code))
                               if name in function.__globals__}
    return (_bare_function, (_VERSION, marshal.dumps(code), home if has_home else "", space), (state, cells, own), None,
            None, _fill)


def _bare_function(version: tuple[int, int], code: bytes, home: str, space: dict[str, typing.Any]) -> types.FunctionType:
    if tuple(version) != _VERSION:
        here, there = (".".join(map(str, each)) for each in (_VERSION, version))
        raise DoveError("python_version", f"the function was compiled by Python {there}, and this is Python {here}",
                        remedy="put the function into a module beside the script, or give python= the same version")
    compiled = marshal.loads(code)
    if home:
        space = importlib.import_module(home).__dict__
    else:
        space.setdefault("__name__", "__main__")
        space.setdefault("__builtins__", __builtins__)
    return types.FunctionType(compiled, space, closure=tuple(types.CellType() for _ in compiled.co_freevars))


def _fill(function: types.FunctionType, filling: tuple[dict, dict, dict]) -> None:
    state, cells, own = filling
    for name, value in state.items():
        setattr(function, name, value)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name in cells:
            cell.cell_contents = cells[name]
    function.__globals__.update(own)
