"""Reads the jobs of an ElastiSim workload that have a fixed number of hosts and a run time that is known.

The form is that of https://elastisim.github.io/workload/job: an object with an array `jobs`. Application models are in
files of their own, which the jobs name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.elastisim.formulas import value_of
from batprotocol.sites.logs.elastisim.models import MODEL, NotKnown, runtime_of
from batprotocol.sites.logs.elements import elements_of
from batprotocol.sites.logs.jobs import Attempt, LoggedJob
from batprotocol.sites.logs.lines import opened

__all__ = ["read_elastisim"]

_FIXED: Final = "the number of its hosts is not fixed"
_NO_JOB: Final = "it lacks the hosts or the submission of a job of ElastiSim"
_ENDLESS: Final = "the file ends, or is damaged, within the jobs"
_NO_FILE: Final = "its application model is not found: put its file beside the workload, or into a folder above it"
_LARGEST: Final = 16 << 20
_MOST: Final = 2**32
_MOST_MODELS: Final = 256
_TEXTS: Final = ("name", "user", "group", "account", "partition", "qos")


def read_elastisim(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs of a workload, in its order. Their ids are their places in it, from 0 on, as in ElastiSim's results.

    Args:
        path: the file, compressed or not.
        left_out: where it counts what it leaves out; the lines are the numbers of jobs, from 1 on.
        zone: not used: times count from the begin of the simulation.

    Raises:
        InputError: the file has no array of jobs.
        OSError: the file cannot be read.
    """
    models = _Models(Path(os.path.abspath(path)).parent)
    with opened(path) as source:
        for number, text in enumerate(elements_of(source, "jobs"), 1):
            if text is None:
                left_out.row(_ENDLESS, number)
                return
            try:
                yield _job(_object(text), number, models, left_out)
            except NotKnown as error:
                left_out.row(str(error), number)


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise NotKnown(_NO_JOB) from None
    if not isinstance(found, dict):
        raise NotKnown(_NO_JOB)
    return found


def _job(given: Mapping[str, Any], number: int, models: _Models, left_out: LeftOut) -> LoggedJob:
    hosts, gpus = _fixed(given, "num_nodes"), _fixed(given, "num_gpus_per_node", 0)
    submitted = given.get("submit_time")
    if hosts < 1 or isinstance(submitted, bool) or not isinstance(submitted, int | float) or not 0 <= submitted < _MOST:
        raise NotKnown(_NO_JOB)
    arguments = _arguments(given.get("arguments"))
    runtime = runtime_of(models.model(given.get("application_model")), arguments, hosts, gpus)
    walltime = given.get("walltime", 0)
    if isinstance(walltime, bool) or not isinstance(walltime, int | float) or not 0 <= walltime < _MOST:
        left_out.value("its walltime cannot be read", number)
        walltime = 0
    gres = (("gpu", hosts * gpus),) if gpus else ()
    attributes = given.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    texts: dict[str, Any] = {key: str(attributes[key]) for key in _TEXTS if isinstance(attributes.get(key), str | int)}
    priority = attributes.get("priority")
    return LoggedJob(
        id=str(number - 1),
        attempts=(
            Attempt(submitted=float(submitted), started=float(submitted), ended=submitted + runtime, is_planned=True),
        ),
        host_count=hosts,
        requested_hosts=hosts,
        gres=gres,
        requested_gres=gres,
        walltime=float(walltime) or None,
        priority=priority if type(priority) is int and 0 <= priority < _MOST else None,
        line=number,
        **texts,
    )


def _fixed(given: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """A number that is fixed: given once, or with a minimum that is the maximum."""
    least, most = given.get(f"{key}_min"), given.get(f"{key}_max")
    value = given.get(key, default)
    if least is not None or most is not None:
        if least != most:
            raise NotKnown(_FIXED)
        value = least
    if type(value) is not int or not 0 <= value < _MOST:
        raise NotKnown(_NO_JOB)
    return value


def _arguments(given: Any) -> dict[str, float]:
    """The arguments that are numbers, also as texts; others cannot be used in formulas."""
    found = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        try:
            found[name] = value_of(str(value), {})
        except ValueError:
            continue
    return found


class _Models:
    """The application models that jobs name: files whose names count from a folder, from those above it, or beside."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Any] = {}

    def model(self, name: Any) -> Any:
        """A model, which is read once."""
        if isinstance(name, dict):
            return name
        if not isinstance(name, str) or not name or "\0" in name:
            raise NotKnown(MODEL)
        if name not in self._known:
            if len(self._known) >= _MOST_MODELS:
                self._known.clear()
            self._known[name] = self._read(name)
        found = self._known[name]
        if isinstance(found, NotKnown):
            raise NotKnown(str(found))
        return found

    def _read(self, name: str) -> Any:
        places = [self._folder / name, *(parent / name for parent in self._folder.parents)]
        for place in (*places, self._folder / Path(name).name):
            try:
                facts = os.stat(place)
                if not stat.S_ISREG(facts.st_mode):
                    continue
                if facts.st_size > _LARGEST:
                    return NotKnown(MODEL)
                return msgspec.json.decode(place.read_bytes())
            except (OSError, ValueError):
                continue
            except (msgspec.DecodeError, RecursionError):
                return NotKnown(MODEL)
        return NotKnown(_NO_FILE)
