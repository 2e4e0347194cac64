"""`batproto workload failures`: failures of hosts, drawn from laws."""

from __future__ import annotations

from collections.abc import Sequence

from batprotocol.errors import InputError
from batprotocol.workloads.commands.events import machine_of, write_events
from batprotocol.workloads.host_events import FailureModel, Law, drawn_failures, failure_preset, parse_law

__all__ = ["show"]


def show(
    *,
    platform: str | None,
    hosts: str | None,
    kinds: Sequence[tuple[str, str, str]],
    preset_name: str | None,
    mtbf: float | None,
    until: float,
    seed: int,
    age: float,
    output: str | None,
) -> None:
    """Write failures and repairs.

    Args:
        platform: the platform file, or None.
        hosts: a description of hosts, or their number; or None.
        kinds: the hosts that fail together, and the laws of the times between failures and of repairs, as texts.
        preset_name: the name of a published model, instead of `kinds`.
        mtbf: the mean time between failures for it, in seconds, or None.
        until: when the last failures may be, in seconds.
        seed: the seed.
        age: the age of the hosts at the beginning, in seconds.
        output: the file, or None.
    """
    if bool(kinds) == (preset_name is not None):
        raise InputError("expected either --each or --preset: name the laws")
    if preset_name is not None:
        models = [failure_preset(preset_name, mtbf=mtbf)]
    elif mtbf is not None:
        raise InputError("--mtbf is for a --preset: put the mean into the law of --each")
    else:
        models = [FailureModel(_law(between), _law(repair), each) for each, between, repair in kinds]
    write_events(drawn_failures(machine_of(platform, hosts), models, until=until, seed=seed, age=age), output)


def _law(text: str) -> Law:
    try:
        return parse_law(text)
    except InputError as error:
        raise InputError(error.reason, f"--each: {error.path}" if error.path else "--each") from None
