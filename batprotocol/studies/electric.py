"""The electricity of a study: its carbon intensities, prices and caps, and the policies that know them.

It must not know how descriptions are read, nor how anything is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, StudyError, shown
from batprotocol.policies.names import PolicyNameError, parts_of, scheduler_named, with_options
from batprotocol.studies.changing import GivenInput
from batprotocol.studies.files import Files
from batprotocol.studies.powering import CAP, read_trace
from batprotocol.studies.runs import TraceFile
from batprotocol.studies.schedulers import Chosen, filled, is_policy
from batprotocol.workloads.electricity.tables import trace_file

__all__ = ["ELECTRICITY", "NONE", "ElectricSchedulers", "electric_input", "measures_energy", "traces_of_run"]

ELECTRICITY: Final = ("carbon", "price", CAP)
"""The keys of what is known about the electricity."""
NONE: Final = "none"
"""The value of the key `cap` without a cap."""


def electric_input(key: str, label: Any, given: Any, folder: str, place: str) -> GivenInput:
    """A carbon intensity, a price or a cap, with its file.

    Args:
        key: its key.
        label: its name in tables.
        given: its value: the name of a trace or, of a cap, a number of watts.
        folder: the folder of the study.
        place: its place in the description, for errors.

    Raises:
        StudyError: it cannot be used.
        OSError: its file cannot be read.
    """
    text = f"{given:.15g}" if isinstance(given, int | float) else str(given)
    if key == CAP and text == NONE:
        return GivenInput(label, None, None)
    path, mark, query = text.partition("?")
    root, files = folder, None
    if trace_file(text) is not None and os.path.isfile(os.path.join(folder, path)):
        root, own = os.path.split(os.path.join(folder, path))
        files, text = Files.read(root, [own]), own + mark + query
    try:
        unit = read_trace(key, text, root, "" if files is None else files.digest).unit
    except InputError as error:
        raise StudyError(str(error), place) from None
    return GivenInput(label, text, files, {"unit": unit})


def measures_energy(value: Mapping[str, Any]) -> bool:
    """Whether the energy of a run is measured: if the study says so, or knows something about its electricity."""
    found = value.get("energy")
    return any(key in value for key in ("watts", *ELECTRICITY)) if found is None else bool(found)


def traces_of_run(value: Mapping[str, Any]) -> tuple[TraceFile, ...]:
    """The carbon intensity, price and cap of a run, for its measure.

    Args:
        value: the values of the keys of the study.
    """
    found = []
    for key in ELECTRICITY:
        each: GivenInput | None = value.get(key)
        if each is not None and each.text is not None:
            files = each.files
            about = ("", "") if files is None else (files.digest, files.root)
            found.append(TraceFile(key, each.text, *about, each.options.get("unit", "")))
    return tuple(found)


class ElectricSchedulers:
    """The schedulers of a study, with each of its caps and traces: a policy keeps the cap of a run, and has the traces
    of the run in place of `{carbon}` and `{price}`. Other schedulers stay as they are.

    Args:
        schedulers: the schedulers.
        inputs: the values of the keys of electricity; a key that was not given is missing.

    Raises:
        StudyError: a policy cannot have them.
        OSError: a file cannot be read.
    """

    def __init__(self, schedulers: Iterable[Chosen], inputs: Mapping[str, Sequence[GivenInput]]) -> None:
        self._made: dict[tuple[int, ...], Chosen] = {}
        given = {key: inputs[key] for key in ELECTRICITY if key in inputs}
        for each in schedulers:
            for values in product(*given.values()):
                value = dict(zip(given, values, strict=True))
                if all(each.runs_with_value(key, one.label) for key, one in value.items()):
                    self._made[_place(each, value)] = _with_electricity(each, value)

    def scheduler(self, scheduler: Chosen, value: Mapping[str, Any]) -> Chosen:
        """The scheduler of a run.

        Args:
            scheduler: the scheduler as the study names it.
            value: the values of the keys of the study.
        """
        return self._made[_place(scheduler, value)]


def _place(scheduler: Chosen, value: Mapping[str, Any]) -> tuple[int, ...]:
    return id(scheduler), *(id(value.get(key)) for key in ELECTRICITY)


def _with_electricity(scheduler: Chosen, value: Mapping[str, GivenInput]) -> Chosen:
    if not is_policy(scheduler.target):
        return scheduler
    target, given = scheduler.target, []
    for key in ("carbon", "price"):
        each = value.get(key)
        word = f"{{{key}}}"
        if word in target:
            if each is None or each.text is None:
                raise StudyError(f"{scheduler.name} waits for the {key}, and there is none: set {key}", key)
            target = target.replace(word, each.text)
            given.append(each)
    cap = value.get(CAP)
    if cap is not None and any(part.name == CAP for part in parts_of(target) or ()):
        raise StudyError(f"{scheduler.name} has a cap of its own: remove it there, or the key cap", CAP)
    try:
        if cap is not None and cap.text is not None:
            target = with_options(target, {CAP: cap.text})
            given.append(cap)
        if target == scheduler.target:
            return scheduler
        files = _together(scheduler, given)
        scheduler_named(filled(target), "" if files is None else files.root)
    except PolicyNameError as error:
        raise StudyError(f"{scheduler.name}: {error}", "scheduler") from None
    return msgspec.structs.replace(scheduler, target=target, files=files)


def _together(scheduler: Chosen, given: Iterable[GivenInput]) -> Files | None:
    """The files of a policy and of its traces, which are in one folder."""
    every = [each for each in (scheduler.files, *(each.files for each in given)) if each is not None]
    if len({os.path.abspath(each.root) for each in every}) > 1:
        first = ", ".join(shown(each.names[0]) for each in every)
        raise StudyError(
            f"the files of {scheduler.name}, {first}, are in several folders: put them in one", "scheduler"
        )
    names = dict.fromkeys(name for each in every for name in each.names)
    return Files.read(every[0].root, names) if every else None
