"""A study: what is described, in TOML or in Python, and the runs that it has.

It must not know where these run, nor what is kept of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import StudyError, shown
from batprotocol.files import naming
from batprotocol.simulator.inputs import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD
from batprotocol.studies.files import Files
from batprotocol.studies.keys import KEYS, values_of
from batprotocol.studies.runs import Limits, Run, Task
from batprotocol.studies.schedulers import Chosen, chosen

__all__ = ["Description", "read_description"]

_SETTINGS: Final = ("name", "timeout", "memory")
_EXAMPLE: Final = "example"
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_OF_MODELS: Final = ("jobs", "load", "badness", "walltimes", "seed")
"""What can be made of a workload that is drawn from a model."""
_DRAWN: Final = ("weeks", "badness")
"""What of a workload is drawn by chance."""
_SEED: Final = "{seed}"
"""Stands for the seed in what a scheduler is told."""


class _Input(NamedTuple):
    """A file that a run reads, or what is there instead of one."""

    label: Any
    text: Any
    files: Files | None


class Description:
    """What a study is.

    Args:
        keys: what it says, by the keys of `KEYS`, `name`, `timeout` and `memory`.
        folder: where files are looked for.
        file: the file that it was read from, for errors, or "".

    Raises:
        StudyError: it cannot be run as it is described.
        OSError: a file cannot be read.
    """

    def __init__(self, keys: Mapping[str, Any], folder: str = "", file: str = "") -> None:
        self.folder = os.path.abspath(folder)
        """Where files are looked for."""
        try:
            self._expect_keys(keys)
            self.name: str = keys.get("name", "study")
            """What it is called."""
            self.limits = _limits(keys)
            """What each run may take."""
            self.axes: dict[str, tuple[Any, ...]] = {}
            """What tables can be made by: the values of each key that was given, as they are called."""
            self._values = {key: self._checked(key, keys[key]) for key in KEYS if key in keys}
            self._inputs = {key: self._read(key) for key in ("workload", "platform", "events")}
            self._schedulers = [
                chosen(each, self.folder, _place("scheduler", number, keys["scheduler"]))
                for number, each in enumerate(self._values["scheduler"])
            ]
            self._label()
            self._expect_changes()
            self._expect_chance()
            self._expect_watts()
        except StudyError as error:
            raise StudyError(error.reason, error.path, file=error.file or file) from None

    # What is described

    def _expect_keys(self, keys: Mapping[str, Any]) -> None:
        for key in keys:
            if key not in KEYS and key not in _SETTINGS:
                near = get_close_matches(key, [*KEYS, *_SETTINGS], n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join([*_SETTINGS, *KEYS])}"
                raise StudyError(f"there is no such key; {hint}", key)
        if "scheduler" not in keys:
            raise StudyError("a study has at least one scheduler", "scheduler")
        name = keys.get("name", "study")
        if not isinstance(name, str) or not name or os.path.basename(name) != name:
            raise StudyError(f"expected a text that can be the name of a file, got {shown(name)}", "name")

    def _checked(self, key: str, given: Any) -> list[Any]:
        values = values_of(key, given)
        if key == "scheduler":
            return values
        for number, value in enumerate(values):
            inner = value.get(key) if KEYS[key].kind == "input" and isinstance(value, Mapping) else value
            if not KEYS[key].check(inner):
                raise StudyError(f"expected {KEYS[key].expected}, got {shown(value)}", _place(key, number, given))
        return values

    def _read(self, key: str) -> list[_Input]:
        given = self._values.get(key)
        if given is None:
            example = key == "platform" and all(_path_of(each) == _EXAMPLE for each in self._workloads())
            given = [_EXAMPLE] if key == "workload" or example else [None]
        return [self._input(key, each, _place(key, number, given)) for number, each in enumerate(given)]

    def _workloads(self) -> list[Any]:
        return self._values.get("workload", [_EXAMPLE])

    def _input(self, key: str, given: Any, place: str) -> _Input:
        label, text = given, given
        if isinstance(given, Mapping):
            if given.keys() - {key, "name"}:
                raise StudyError(f"a table has the keys {key} and name, got {shown(sorted(given))}", place)
            text = given[key]
            label = given.get("name", text)
        if not isinstance(text, str):
            return _Input(label, text, None)
        path, mark, query = text.partition("?") if key == "workload" else (text, "", "")
        if key == "workload" and path.startswith("lublin:"):
            return _Input(label, text, None)
        examples = {"workload": EXAMPLE_WORKLOAD, "platform": EXAMPLE_PLATFORM}
        path = examples.get(key, path) if path == _EXAMPLE else os.path.join(self.folder, path)
        folder, own = os.path.split(path)
        names = [own, *_traces(path)] if key == "workload" else [own]
        return _Input(label, own + mark + query, Files.read(folder, names))

    def _label(self) -> None:
        labels: dict[str, Sequence[Any]] = {key: self._values[key] for key in KEYS if key in self._values}
        for key, inputs in self._inputs.items():
            if key in labels:
                labels[key] = [each.label for each in inputs]
        labels.setdefault("workload", [each.label for each in self._inputs["workload"]])
        labels["scheduler"] = [each.name for each in self._schedulers]
        for key in KEYS:
            if key not in labels:
                continue
            seen: set[str] = set()
            for label in labels[key]:
                if str(label) in seen:
                    hint = "; give one of them a name" if KEYS[key].kind == "input" else ""
                    raise StudyError(f"{shown(label)} is there twice{hint}", key)
                seen.add(str(label))
            self.axes[key] = tuple(labels[key])

    def _expect_changes(self) -> None:
        """What is made of a workload is said once, and can be made of it."""
        for key in self._values:
            for workload in self._inputs["workload"] if KEYS[key].kind == "change" else ():
                if _word(key) in _words(workload) and key != "seed":
                    raise StudyError(f"the workload {shown(workload.text)} has it in its name already", key)
                if workload.files is None and key not in _OF_MODELS:
                    raise StudyError(
                        f"the workload {shown(workload.text)} is drawn from a model, of which it is not", key
                    )

    def _expect_chance(self) -> None:
        """Ten seeds of what no seed changes would be ten times the same."""
        if len(self.axes.get("seed", ())) < 2:
            return
        models = any(isinstance(each.text, str) and each.files is None for each in self._inputs["workload"])
        told = any(_SEED in str(value) for value in self._values.get("init", ()))
        told = told or any(_SEED in each.arguments.values() for each in self._schedulers)
        if not (models or told or any(key in self._values for key in _DRAWN)):
            raise StudyError(
                "nothing is drawn by chance: take a workload such as lublin:256?jobs=1000, say weeks or badness, or "
                'tell the scheduler, with init = "{seed}" or an argument "{seed}"',
                "seed",
            )

    def _expect_watts(self) -> None:
        if any(self._values.get("energy", ())) and any(each.files is None for each in self._inputs["platform"]):
            raise StudyError("energy can only be measured on a platform whose file tells watts: name one", "platform")

    # The runs

    def runs(
        self, only: Iterable[str] = (), *, batsim: Sequence[str] = (), in_process: bool = False
    ) -> tuple[list[Run], dict[str, Files]]:
        """All its runs, or some of them, and the files that they read, by their digests.

        Args:
            only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`: runs that are there on each of these axes.
            batsim: the command that simulates; none is the embedded Batsim.
            in_process: whether that loads the scheduler into its own process.

        Raises:
            StudyError: no run is left.
            OSError: the command cannot be read.
        """
        files: dict[str, Files] = {}
        program = _program(batsim)
        wanted = _wanted(only, self.axes)
        found = [
            run
            for run in self._all(files, tuple(batsim), program, in_process)
            if all(str(run.axes[axis]) in values for axis, values in wanted.items())
        ]
        if not found:
            raise StudyError(f"there is no run with {' '.join(only)}")
        return found, files

    def _all(self, files: dict[str, Files], batsim: tuple[str, ...], program: str, in_process: bool) -> Iterator[Run]:
        def kept(found: Files | None) -> str:
            if found is None:
                return ""
            files[found.digest] = found
            return found.digest

        digests = {id(each): kept(each.files) for inputs in self._inputs.values() for each in inputs}
        sources = {id(each): kept(each.files) for each in self._schedulers}
        choices: dict[str, Sequence[Any]] = {**self._values, **self._inputs, "scheduler": self._schedulers}
        keys = [key for key in KEYS if key in choices]
        labels = [range(len(choices[key])) for key in keys]
        for places in product(*labels):
            at = dict(zip(keys, places, strict=True))
            value = {key: choices[key][place] for key, place in at.items()}
            axes = {key: self.axes[key][place] for key, place in at.items() if key in self.axes}
            workload, platform, events = (value[key] for key in ("workload", "platform", "events"))
            scheduler: Chosen = value["scheduler"]
            seed = value.get("seed", 0)
            task = Task(
                scheduler=scheduler.target,
                arguments={name: seed if each == _SEED else each for name, each in scheduler.arguments.items()},
                source=sources[id(scheduler)],
                workload=workload.text,
                workload_files=digests[id(workload)],
                changes=_changes(value, workload),
                platform=platform.text,
                platform_files=digests[id(platform)],
                events=events.text or "",
                events_files=digests[id(events)],
                init=value.get("init", "").replace(_SEED, str(seed)),
                energy=value.get("energy", False),
                corrected=value.get("corrected", False),
                rules=value.get("rules", ""),
                metrics={key: value[key] for key in value if KEYS[key].kind == "metrics"},
                batsim=batsim,
                batsim_files=program,
                in_process=in_process,
            )
            yield Run.of(axes, task)


def read_description(path: str | os.PathLike[str]) -> Description:
    """The description in a TOML file; the files that it names are looked for beside it.

    Raises:
        StudyError: it cannot be read, or not be run as it is described.
        OSError: a file cannot be read.
    """
    name = os.fspath(path)
    with naming(name), open(name, "rb") as file:
        data = file.read()
    try:
        keys = msgspec.toml.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"it is no TOML: {error}", file=name) from None
    keys.setdefault("name", os.path.splitext(os.path.basename(name))[0])
    return Description(keys, os.path.dirname(name), name)


def _place(key: str, number: int, given: Any) -> str:
    return f"{key}[{number}]" if isinstance(given, list | tuple) and len(given) > 1 else key


def _path_of(workload: Any) -> str:
    text = workload.get("workload") if isinstance(workload, Mapping) else workload
    return str(text).partition("?")[0]


def _limits(keys: Mapping[str, Any]) -> Limits:
    usual = Limits()
    seconds, memory = keys.get("timeout", usual.seconds), keys.get("memory", usual.memory)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise StudyError(f"expected seconds > 0, got {shown(seconds)}", "timeout")
    return Limits(float(seconds), memory_of(memory))


def memory_of(given: Any) -> int:
    """How many bytes a text such as `2GB` says, or a number.

    Raises:
        StudyError: it says nothing of the kind.

    >>> memory_of("1.5GB"), memory_of(4096)
    (1500000000, 4096)
    """
    text = str(given).strip().removesuffix("B")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        found = float(text.removesuffix(unit)) * _UNITS[unit]
    except ValueError:
        found = -1.0
    if isinstance(given, bool) or not 0 <= found < 2**62:
        raise StudyError(f'expected bytes, such as 4096 or "2GB", got {shown(given)}', "memory")
    return int(found)


def _changes(value: Mapping[str, Any], workload: _Input) -> dict[str, str]:
    """What is made of a workload, in the words of its name."""
    own = _words(workload)
    found = {}
    for key, given in value.items():
        if KEYS[key].kind != "change" or _word(key) in own or (key == "seed" and not _draws(value, workload)):
            continue
        found[_word(key)] = ("yes" if given else "no") if isinstance(given, bool) else str(given)
    return found


def _word(key: str) -> str:
    """What a key is called in names of workloads."""
    return key.replace("_", "-")


def _words(workload: _Input) -> set[str]:
    """What the name of a workload says itself is made of it."""
    return {part.partition("=")[0] for part in str(workload.text).partition("?")[2].split("&")}


def _draws(value: Mapping[str, Any], workload: _Input) -> bool:
    """Whether a workload is drawn by chance, or something of it."""
    text = str(workload.text)
    return workload.files is None or any(key in value or f"{key}=" in text for key in _DRAWN)


def _traces(path: str) -> list[str]:
    """The files of usage traces that a workload names, by their names from its folder on."""
    with naming(path), open(path, "rb") as file:
        if b"TraceReplayProfile" not in file.read():
            return []
    from batprotocol.model import TraceReplayProfile
    from batprotocol.simulator.inputs import read_workload

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


def _program(batsim: Sequence[str]) -> str:
    """The digest of the program that is to simulate."""
    if not batsim:
        return ""
    path = shutil.which(batsim[0])
    if path is None:
        raise StudyError(f"there is no program {shown(batsim[0])}", "batsim")
    return Files.read(os.path.dirname(path), [os.path.basename(path)]).digest


def _wanted(only: Iterable[str], axes: Mapping[str, Sequence[Any]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in only:
        axis, equals, text = each.partition("=")
        if not equals or axis not in axes:
            raise StudyError(f"expected AXIS=VALUE with one of the axes {', '.join(axes)}, got {shown(each)}")
        known = {str(value) for value in axes[axis]}
        values = {text} if text in known else set(text.split(","))
        if not values <= known:
            missing = min(values - known)
            raise StudyError(f"{axis} has no value {shown(missing)}; it has {', '.join(map(str, axes[axis]))}")
        found.setdefault(axis, set()).update(values)
    return found
