"""The files beside Batsim's in which a run keeps its failures, and what its energy is measured with.

This module must not know how they are measured.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.results.allocations import read_allocations
from batprotocol.results.attempts import read_attempts, write_attempts
from batprotocol.results.away import TimedHostEvent, host_events_of
from batprotocol.results.files import read_energy
from batprotocol.workloads.events import read_external_events, write_event_lines
from batprotocol.workloads.requests import Allocated, Attempt

__all__ = [
    "ALLOCATIONS",
    "ATTEMPTS",
    "ENERGY",
    "HOST_EVENTS",
    "POWER",
    "KnownPower",
    "PowerFile",
    "failures_beside",
    "power_beside",
    "write_failures",
    "write_power",
]

ATTEMPTS: Final = "attempts.csv"
HOST_EVENTS: Final = "host_events.jsonl"
ALLOCATIONS: Final = "allocations.csv"
ENERGY: Final = "consumed_energy.csv"
POWER: Final = "power.json"
_MOST_BYTES: Final = 1 << 16


class PowerFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values that a run keeps of its platform, in power.json, if its energy was measured.

    Args:
        cores: the number of cores of all computation hosts.
        watts: the typical watts of hosts that declare none, as `parse_watts` reads them; "" if all declare theirs.
    """

    cores: int
    watts: str = ""


class KnownPower(msgspec.Struct, frozen=True):
    """The values of the files of a run for the metrics of electricity, and for those of shared hosts.

    Args:
        energy: the joules of all hosts since time 0, over time; None if energy was not measured.
        cores: the number of cores of all computation hosts; None if it is unknown.
        watts: the typical watts of hosts that declare none, or "".
        allocations: what jobs took of shared hosts.
    """

    energy: tuple[tuple[float, float], ...] | None = None
    cores: int | None = None
    watts: str = ""
    allocations: tuple[Allocated, ...] = ()


def write_failures(prefix: str, attempts: Collection[Attempt], events: Collection[TimedHostEvent]) -> None:
    """Write the failures of a run, if it had some.

    Args:
        prefix: the prefix of its result files, such as `out/`.
        attempts: the attempts of its jobs.
        events: the events of its hosts, with their times.

    Raises:
        OSError: a file cannot be written.
    """
    if attempts:
        write_attempts(f"{prefix}{ATTEMPTS}", attempts)
    if events:
        with open(f"{prefix}{HOST_EVENTS}", "w", encoding="utf-8") as file:
            write_event_lines(events, file)


def failures_beside(prefix: str) -> tuple[list[Attempt], list[TimedHostEvent]]:
    """The failures of a run: the attempts of its jobs, and the events of its hosts.

    Args:
        prefix: the prefix of its result files, such as `out/`. Files may be missing.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    attempts, events = f"{prefix}{ATTEMPTS}", f"{prefix}{HOST_EVENTS}"
    return (
        read_attempts(attempts) if os.path.isfile(attempts) else [],
        list(host_events_of([read_external_events(events)])) if os.path.isfile(events) else [],
    )


def write_power(prefix: str, power: PowerFile) -> None:
    """Write what a run keeps of its platform for the metrics of electricity.

    Args:
        prefix: the prefix of its result files, such as `out/`.
        power: the values.

    Raises:
        InputError: the values could not be read back.
        OSError: the file cannot be written.
    """
    try:
        data = msgspec.json.encode(power) + b"\n"
        _power_file(data, f"{prefix}{POWER}")
    except (UnicodeError, OverflowError) as error:
        raise InputError(f"a power.json cannot have it: {error}") from None
    with open(f"{prefix}{POWER}", "wb") as file:
        file.write(data)


def _power_file(data: bytes, name: str) -> PowerFile:
    if len(data) > _MOST_BYTES:
        raise InputError(f"expected a power.json of at most {_MOST_BYTES:,} bytes", file=name)
    try:
        power = msgspec.json.decode(data, type=PowerFile)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"it is not a power.json: {error}", file=name) from None
    if power.cores < 1:
        raise InputError(f"expected a number of cores > 0, got {power.cores}", "cores", file=name)
    return power


def power_beside(prefix: str) -> KnownPower:
    """The values of the files of a run for the metrics of electricity. Files may be missing.

    Args:
        prefix: the prefix of its result files, such as `out/`.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    energy, about, taken = (f"{prefix}{name}" for name in (ENERGY, POWER, ALLOCATIONS))
    allocations = tuple(read_allocations(taken)) if os.path.isfile(taken) else ()
    if not os.path.isfile(energy):
        return KnownPower(allocations=allocations)
    power: PowerFile | None = None
    if os.path.isfile(about):
        with open(about, "rb") as file:
            power = _power_file(file.read(_MOST_BYTES + 1), about)
    return KnownPower(
        tuple(read_energy(energy)),
        None if power is None else power.cores,
        "" if power is None else power.watts,
        allocations,
    )
