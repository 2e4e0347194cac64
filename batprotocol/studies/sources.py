"""Files, schedulers, metrics and traces that a study names, each with a digest of all that decides its effect."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import product
from types import ModuleType
from typing import Any, Final

import msgspec

from batprotocol._util.files import naming
from batprotocol.edc.scheduler import Scheduler, load
from batprotocol.errors import InputError, StudyError, shown
from batprotocol.policies.names import PolicyNameError, files_in, parts_of, scheduler_named, with_options
from batprotocol.policies.slurm import is_slurm, slurm_files, with_slurm_files
from batprotocol.simulator import Electricity, load_metric
from batprotocol.studies.runs import Measure, OwnMetricFile, TraceFile
from batprotocol.workloads.electricity import CARBON, PRICE, Trace
from batprotocol.workloads.electricity.tables import cap_named, trace_file, trace_named

__all__ = [
    "CAP",
    "electricity_of",
    "known_electricity",
    "read_trace",
]


class StudyFiles(msgspec.Struct, frozen=True):
    """Files that belong together.

    Args:
        root: their folder, on the machine on which the study was described.
        names: their names below that folder. The study named the first file, which needs the others.
        digests: the SHA-256 of the contents of each.
        contents: the contents of each, if they must travel to another machine; else None.
    """

    root: str
    names: tuple[str, ...]
    digests: tuple[str, ...]
    contents: tuple[bytes, ...] | None = None

    @classmethod
    def read(cls, root: str, names: Iterable[str]) -> StudyFiles:
        """Read these files as they are now.

        Raises:
            OSError: one cannot be read.
        """
        known = tuple(names)
        return cls(root, known, tuple(_digest(_read(os.path.join(root, name))) for name in known))

    @property
    def digest(self) -> str:
        """Their common digest: equal for equal names and bytes, in any folder."""
        found = hashlib.sha256()
        for name, digest in sorted(zip(self.names, self.digests, strict=True)):
            found.update(f"{name}\0{digest}\0".encode())
        return found.hexdigest()

    def packed(self) -> StudyFiles:
        """The same files with their contents.

        Raises:
            StudyError: one has changed since they were read.
            OSError: one cannot be read.
        """
        contents = tuple(_read(os.path.join(self.root, name)) for name in self.names)
        for name, data, digest in zip(self.names, contents, self.digests, strict=True):
            if _digest(data) != digest:
                raise self._changed(name)
        return msgspec.structs.replace(self, contents=contents)

    def located(self, folder: str) -> str:
        """Their folder on this machine. It is `root` if they are unchanged there; else they are written below `folder`.

        Args:
            folder: the folder to write to. It may have files of other runs already.

        Raises:
            StudyError: they are not in `root`, and their contents are missing.
            OSError: they cannot be written.
        """
        missing = self._missing()
        if missing is None:
            return self.root
        if self.contents is None:
            raise self._changed(missing)
        root = os.path.join(folder, self.digest)
        if not os.path.isdir(root):
            for name, data in zip(self.names, self.contents, strict=True):
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with naming(path), open(path, "wb") as file:
                    file.write(data)
        return root

    def _missing(self) -> str | None:
        """The first file that is missing in `root`, or has changed there."""
        for name, digest in zip(self.names, self.digests, strict=True):
            path = os.path.join(self.root, name)
            try:
                state = os.stat(path)
                if _digest_of(path, state.st_size, state.st_mtime_ns) != digest:
                    return name
            except OSError:
                return name
        return None

    def _changed(self, name: str) -> StudyError:
        return StudyError(
            "it has changed since the study began: run the study again", file=os.path.join(self.root, name)
        )


def _read(path: str) -> bytes:
    with naming(path), open(path, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def _digest_of(path: str, size: int, time: int) -> str:
    """The digest of a file with this size and time of its last change."""
    return _digest(_read(path))


# The source of a scheduler: its file, and the modules that this imports from its folder.


def imported_from_beside(path: str) -> list[str]:
    """The names of the files in the folder of a program, or below it, that the program needs. Its own file comes first.

    Args:
        path: the file of the program.

    Raises:
        OSError: a file cannot be read.
    """
    folder, own = os.path.split(os.path.abspath(path))
    found = {own: None}
    waiting = [own]
    while waiting:
        name = waiting.pop()
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            source = file.read()
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue  # the import reports it
        package = os.path.dirname(name).replace(os.sep, ".")
        for module in _imports(tree, package):
            for each in _files(folder, module):
                if each not in found:
                    found[each] = None
                    waiting.append(each)
    return [own, *sorted(name for name in found if name != own)]


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The full names of all modules that a file may import, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            if node.level:
                parts = parts[: len(parts) - node.level + 1]
                module = ".".join([*parts, *([node.module] if node.module else [])])
            else:
                module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}".removeprefix(".") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and _name(node.func) in ("import_module", "__import__"):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("."):
                yield first.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _files(folder: str, module: str) -> Iterator[str]:
    """The files of a module and of its packages that are in the folder."""
    place = ""
    for part in module.split("."):
        if not part:
            return
        place = os.path.join(place, part)
        for suffix in (".py", *EXTENSION_SUFFIXES):
            if os.path.isfile(os.path.join(folder, place + suffix)):
                yield place + suffix
                return
        if not os.path.isdir(os.path.join(folder, place)):
            return
        package = os.path.join(place, "__init__.py")
        if os.path.isfile(os.path.join(folder, package)):
            yield package


# The schedulers of a study: found on the machine that describes it, and made on the machines that run it.


_WORDS = {
    "scheduler": "a policy or FILE:CLASS",
    "name": "a text",
    "arguments": "a table",
    "files": "names of files",
    "only": "a table of axes and their values",
}


_EXAMPLES: Final = {"{seed}": "0", "{carbon}": "daily:300", "{price}": "daily:0.3"}


class ChosenScheduler(msgspec.Struct, frozen=True):
    """A scheduler.

    Args:
        name: its name in tables.
        target: a policy, or `NAME.py:Class` of its files.
        arguments: the arguments of the class.
        files: its file and the modules that this imports from its folder; the files of the parts of a policy; or None.
        parameters: its arguments with several values in the study. Each of them is an axis.
        only: the values on other axes with which it runs, by the axes; empty: it runs with all values.
    """

    name: str
    target: str
    arguments: Mapping[str, Any] = {}
    files: StudyFiles | None = None
    parameters: Mapping[str, Any] = {}
    only: Mapping[str, tuple[Any, ...]] = {}

    def runs_with_value(self, axis: str, label: Any) -> bool:
        """Whether it runs with this value on an axis of the study."""
        return axis not in self.only or str(label) in map(str, self.only[axis])


def chosen(given: Any, folder: str, place: str) -> list[ChosenScheduler]:
    """The scheduler that a study names; several schedulers if an argument has several values.

    Args:
        given: a policy, `FILE:CLASS`, a class, or a table with the keys `scheduler`, `name`, `arguments`, `files` and
            `only`.
        folder: the folder of its file.
        place: its place in the description, for errors.

    Raises:
        StudyError: there is no such scheduler.
        OSError: a file cannot be read.
    """
    table = dict(given) if isinstance(given, Mapping) else {"scheduler": given}
    unknown = table.keys() - _WORDS.keys()
    if unknown or "scheduler" not in table:
        raise StudyError(f"a table has the keys {', '.join(_WORDS)}, got {shown(sorted(table))}", place)
    only = table.pop("only", {})
    if not isinstance(only, Mapping):
        raise StudyError(f"expected a table of axes and their values, got {shown(only)}", f"{place}.only")
    values = {axis: tuple(each) if isinstance(each, list | tuple) else (each,) for axis, each in only.items()}
    return [msgspec.structs.replace(each, only=values) for each in _chosen(table, folder, place)]


def _chosen(table: Mapping[str, Any], folder: str, place: str) -> list[ChosenScheduler]:
    """The schedulers of a table, without the values with which they run."""
    target, name = table["scheduler"], table.get("name")
    arguments, extra = table.get("arguments", {}), table.get("files", [])
    if isinstance(target, type):
        target = _target_of(target, place)
    for key, right in (
        ("scheduler", isinstance(target, str) and target),
        ("name", name is None or (isinstance(name, str) and name)),
        ("arguments", isinstance(arguments, Mapping) and all(isinstance(each, str) for each in arguments)),
        ("files", isinstance(extra, list | tuple) and all(isinstance(each, str) for each in extra)),
    ):
        if not right:
            raise StudyError(f"expected {_WORDS[key]}, got {shown(table[key])}", f"{place}.{key}")
    for key, value in arguments.items():
        if isinstance(value, list | tuple) and not value:
            raise StudyError(
                "an axis has at least one value: write one, or leave out the argument", f"{place}.arguments.{key}"
            )
    axes = {key: list(value) for key, value in arguments.items() if isinstance(value, list | tuple)}
    fixed = {key: value for key, value in arguments.items() if key not in axes}
    choices = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    path, colon, member = target.rpartition(":")
    has_marks = colon or target.endswith(".py") or os.sep in target
    if not has_marks or is_policy(target):
        if extra:
            raise StudyError(f"{shown(target)} is a policy, which has no files: remove files", place)
        return _policies(name, target, fixed, choices, folder, place)
    path = os.path.join(folder, path)
    if not path or not member or not colon or not os.path.isfile(path):
        expected = "expected a policy or FILE:CLASS, for example scheduler.py:FCFS"
        raise StudyError(f"there is no file {shown(path)}" if colon else f"{expected}, got {shown(target)}", place)
    beside, own = os.path.split(os.path.abspath(path))
    files = StudyFiles.read(beside, [*imported_from_beside(path), *_extra(beside, extra, place)])
    words = ", ".join(f"{key}={value}" for key, value in fixed.items())
    name = name or (f"{target}({words})" if words else target)
    return [ChosenScheduler(name, f"{own}:{member}", {**fixed, **choice}, files, choice) for choice in choices]


def _policies(
    name: str | None,
    target: str,
    fixed: Mapping[str, Any],
    choices: Sequence[Mapping[str, Any]],
    folder: str,
    place: str,
) -> list[ChosenScheduler]:
    """A policy with each choice of its options."""
    try:
        base = with_options(target, fixed) if fixed else target
        return [
            _policy(name or base, with_options(base, choice) if choice else base, choice, folder) for choice in choices
        ]
    except PolicyNameError as error:
        raise StudyError(str(error), place) from None


def _policy(name: str, target: str, parameters: Mapping[str, Any], folder: str) -> ChosenScheduler:
    """A policy, with the files of its parts if it has some. The name of a run has only the last parts of their paths.

    Raises:
        PolicyNameError: it is not a policy, or its file cannot be used.
    """
    scheduler_named(filled(target), folder)
    if is_slurm(target):
        return _slurm(name, target, folder)
    given = {part: found for part, found in files_in(target).items() if not found[0].startswith("{")}
    if not given:
        return ChosenScheduler(name, target, parameters=parameters)
    paths = [os.path.abspath(os.path.join(folder, path.partition("?")[0])) for path, _ in given.values()]
    beside = os.path.dirname(paths[0])
    if any(os.path.dirname(path) != beside for path in paths):
        raise PolicyNameError(f"the files of {shown(target)} are in several folders: put them in one")
    for part, (path, rest) in given.items():
        file, mark, query = path.partition("?")
        target = with_options(target, {part: ",".join(filter(None, (os.path.basename(file) + mark + query, rest)))})
    files = StudyFiles.read(beside, dict.fromkeys(map(os.path.basename, paths)))
    return ChosenScheduler(name, target, files=files, parameters=parameters)


def is_policy(target: str) -> bool:
    """Whether a scheduler is a policy, by its name."""
    return is_slurm(target) or parts_of(target) is not None


def filled(target: str) -> str:
    """The name of a policy with examples of the values that runs have in place of `{seed}`, `{carbon}`, `{price}`."""
    for word, text in _EXAMPLES.items():
        target = target.replace(word, text)
    return target


def _slurm(name: str, target: str, folder: str) -> ChosenScheduler:
    """A Slurm, with its files. They are in one folder, and its slurm.conf includes no others."""
    paths = [os.path.abspath(os.path.join(folder, each)) for each in slurm_files(target)]
    beside = os.path.dirname(paths[0])
    if any(os.path.dirname(path) != beside for path in paths):
        raise PolicyNameError(f"the files of {shown(target)} are in several folders: put them in one")
    own = [os.path.basename(path) for path in paths]
    extra = [each for each in ("topology.conf",) if os.path.isfile(os.path.join(beside, each))]
    return ChosenScheduler(name, with_slurm_files(target, own), files=StudyFiles.read(beside, [*own, *extra]))


def _target_of(found: type, place: str) -> str:
    """The `FILE:CLASS` of a class."""
    try:
        path = inspect.getsourcefile(found)
    except TypeError:
        path = None
    if path is None or not os.path.isfile(path) or "." in found.__qualname__:
        raise StudyError(f"{found.__qualname__} is not in a file: write it into one, so that each run finds it", place)
    return f"{path}:{found.__qualname__}"


def _extra(folder: str, names: Any, place: str) -> list[str]:
    found = []
    for name in names:
        relative = os.path.relpath(os.path.join(folder, name), folder)
        if relative.startswith(os.pardir) or not os.path.isfile(os.path.join(folder, relative)):
            raise StudyError(f"there is no file {shown(name)} in the folder of the scheduler's file", f"{place}.files")
        found.append(relative)
    return sorted(found)


class Shelf:
    """The schedulers that a process has loaded. Only the modules of one file's folder can be imported at a time."""

    def __init__(self) -> None:
        self._classes: dict[tuple[str, str, str], type[Scheduler]] = {}
        self._policies: dict[str, type[Scheduler]] = {}
        self._modules: dict[str, dict[str, ModuleType]] = {}
        self._root = ""

    def scheduler(self, target: str, arguments: Mapping[str, Any], root: str) -> Scheduler:
        """A new scheduler: an instance of the class that `loaded` returns."""
        return self.loaded(target, arguments, root)(**arguments)

    def loaded(self, target: str, arguments: Mapping[str, Any], root: str) -> type[Scheduler]:
        """The class of a scheduler.

        Args:
            target: see `ChosenScheduler`.
            arguments: see `ChosenScheduler`.
            root: the folder of its file, or "".

        Raises:
            SchedulerError: there is no such scheduler, or it does not take these arguments.
            Exception: its file raises an exception.
        """
        if not root or is_policy(target):
            return self._named(target, root)
        self._turn_to(root)
        name = root, target, repr(sorted(arguments.items()))
        found = self._classes.get(name)
        if found is None:
            found = self._classes[name] = load(os.path.join(root, target), arguments)
        return found

    def _named(self, target: str, root: str) -> type[Scheduler]:
        """The class of a policy, which is made once for a name without files and options."""
        if root or "=" in target or ":" in target:
            return scheduler_named(target, root)
        found = self._policies.get(target)
        if found is None:
            found = self._policies[target] = scheduler_named(target)
        return found

    def _turn_to(self, root: str) -> None:
        if root == self._root:
            return
        own = self._modules[self._root] = {
            name: module for name, module in sys.modules.items() if self._root and _is_in(self._root, module)
        }
        for name in own:
            del sys.modules[name]
        if self._root in sys.path:
            sys.path[:] = [path for path in sys.path if path != self._root]
        self._root = root
        if root in self._modules:
            sys.modules.update(self._modules[root])
            sys.path.insert(0, root)


def _is_in(root: str, module: ModuleType) -> bool:
    """Whether a module is in a folder. Packages that are installed below the folder, as in `.venv`, are not."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.startswith(os.path.join(root, "")):
        return False
    return not {"site-packages", "dist-packages"} & set(file.split(os.sep))


# The files that a study names beside its inputs: metrics, usage traces, and the program that simulates.


def own_metrics(given: Any, folder: str) -> tuple[tuple[OwnMetricFile, ...], list[StudyFiles]]:
    """The metrics that files define, and these files.

    Raises:
        StudyError: one of them is not a metric.
        OSError: a file cannot be read.
    """
    found: dict[str, OwnMetricFile] = {}
    files = []
    for number, each in enumerate(given if isinstance(given, list | tuple) else [given]):
        place = f"metrics[{number}]" if isinstance(given, list | tuple) and len(given) > 1 else "metrics"
        target = getattr(each, "target", each)
        if not isinstance(target, str) or ":" not in target:
            raise StudyError(f"expected FILE.py:FUNCTION, or a metric that a file defines, got {shown(each)}", place)
        try:
            metric = load_metric(target, folder)
        except InputError as error:
            raise StudyError(str(error), place) from None
        if metric.name in found:
            raise StudyError(f"{shown(metric.name)} is named twice: remove one of them", place)
        path, _, name = metric.target.rpartition(":")
        beside, own = os.path.split(os.path.abspath(path))
        files.append(StudyFiles.read(beside, imported_from_beside(path)))
        about = (metric.name, metric.label, metric.definition, metric.unit, metric.better)
        found[metric.name] = OwnMetricFile(f"{own}:{name}", files[-1].digest, *about)
    return tuple(found.values()), files


def traces_of(path: str) -> list[str]:
    """The files of usage traces that a workload names, relative to its folder."""
    with naming(path), open(path, "rb") as file:
        if b"TraceReplayProfile" not in file.read():
            return []
    from batprotocol.model import TraceReplayProfile
    from batprotocol.workloads import read_workload

    folder = os.path.dirname(os.path.abspath(path))
    found: dict[str, None] = {}
    for profile in read_workload(path, compositions=True).profiles.values():
        if isinstance(profile.profile, TraceReplayProfile):
            name = profile.profile.filename
            found[name] = None
            beside = os.path.dirname(name)
            with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                lines = (line.strip() for line in file)
                found.update((os.path.join(beside, line), None) for line in lines if line and not line.startswith("#"))
    return list(found)


def digest_of_program(batsim: Sequence[str]) -> str:
    """The digest of the program that simulates."""
    if not batsim:
        return ""
    path = shutil.which(batsim[0])
    if path is None:
        raise StudyError(f"there is no program {shown(batsim[0])}", "batsim")
    return StudyFiles.read(os.path.dirname(path), [os.path.basename(path)]).digest


# The electricity of a run: its carbon intensity, price and cap, as its measure names them.


CAP: Final = "cap"
_KEPT: Final = 16


@lru_cache(_KEPT)
def read_trace(kind: str, text: str, root: str, digest: str) -> Trace:
    """The values of a carbon intensity, a price or a cap.

    Args:
        kind: `carbon`, `price` or `cap`.
        text: its name.
        root: the folder of its file.
        digest: the digest of its file; "" if it has none. A file that has changed is read again.

    Raises:
        InputError: it cannot be used.
        OSError: its file cannot be read.
    """
    if kind == CAP:
        return cap_named(text, root)
    return trace_named(text, CARBON if kind == CARBON else PRICE, root)


def electricity_of(measure: Measure, roots: Mapping[str, str]) -> Electricity:
    """The electricity of runs that are measured so.

    Args:
        measure: how they are measured.
        roots: the folders of files, by their digests.

    Raises:
        InputError: a trace cannot be used.
        OSError: a file cannot be read.
    """
    return _electricity({each: roots[each.files] if each.files else "" for each in measure.traces})


def known_electricity(measure: Measure) -> Electricity:
    """The electricity of such runs on this machine, later: traces whose files have changed are not known.

    Raises:
        InputError: a trace cannot be used.
    """
    found = {}
    for each in measure.traces:
        try:
            if not each.files or StudyFiles.read(each.root, [trace_file(each.text) or ""]).digest == each.files:
                found[each] = each.root
        except OSError:
            continue
    return _electricity(found)


def _electricity(places: Mapping[TraceFile, str]) -> Electricity:
    known = {each.kind: read_trace(each.kind, each.text, root, each.files) for each, root in places.items()}
    return Electricity(carbon=known.get(CARBON), price=known.get(PRICE), cap=known.get(CAP))
