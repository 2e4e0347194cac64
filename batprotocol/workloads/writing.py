"""Workloads and platforms as files for Batsim: use them to simulate with Batsim what you created in Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final

from batprotocol.errors import InputError, shown
from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
    TraceReplayProfile,
)
from batprotocol.workloads.network import Link
from batprotocol.workloads.platform import Platform
from batprotocol.workloads.profiles_json import profile_of
from batprotocol.workloads.workload import Workload, WorkloadProfile

__all__ = ["platform_xml", "workload_json"]


def workload_json(workload: Workload) -> str:
    """A workload as Batsim's JSON. `read_workload` reads the same workload from it. Traces are named, not written.

    Raises:
        InputError: a name or a profile could not be read back, such as a delay of 0, or a name with the name of the
            workload and a `!` in it.

    >>> from batprotocol.simulator import lublin_workload
    >>> print(workload_json(lublin_workload(4, 1, seed=3))[:60])
    {
      "nb_res": 4,
      "jobs": [
        {"id": "1", "subtime": 0.0,
    """
    jobs = ",\n    ".join(map(_text, _jobs(workload)))
    cut = len(workload.name) + 1
    profiles = ",\n    ".join(
        f"{_text(_name(name, workload.name))}: {_text(_profile(name[cut:], each, cut))}"
        for name, each in workload.profiles.items()
    )
    head = f'"nb_res": {max(workload.resource_count, 1)},\n  "jobs": [\n    {jobs}\n  ]'
    return f'{{\n  {head},\n  "profiles": {{\n    {profiles}\n  }}\n}}\n'


_ENDLESS: Final = Link("", sys.float_info.max, 0.0)
"""The link of hosts without a network, because SimGrid needs a route: a message takes 5.6e-309 s."""


def platform_xml(platform: Platform) -> str:
    """A platform of `Platform.homogeneous` or `described_platform` as SimGrid's XML, with the properties of hosts.

    Raises:
        InputError: its hosts have different speeds, or it was read from a file; use that file instead.
    """
    hosts = platform.hosts
    if not hosts or platform.filename or any(host.speeds != hosts[0].speeds for host in hosts):
        reason = "only platforms of hosts with equal speeds can be written; use the file of this platform"
        raise InputError(reason, file=platform.filename)
    lines = []
    for host in (platform.master, *hosts):
        name, speeds = escape(host.name), ",".join(f"{speed!r}f" for speed in host.speeds)
        links = platform.route(host, platform.master if host is not platform.master else hosts[0]).links
        link = links[0] if links else _ENDLESS
        amounts = f'bandwidth="{link.bandwidth!r}Bps" latency="{link.latency!r}s"'
        lines += [
            f'<host id="{name}" speed="{speeds}" core="{host.cores}"' + _properties(host.properties),
            f'<link id="{name}_link" {amounts} sharing_policy="SPLITDUPLEX"/>',
            f'<host_link id="{name}" up="{name}_link_UP" down="{name}_link_DOWN"/>',
        ]
    inside = "\n    ".join(lines)
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <zone id="cluster" routing="Cluster">\n    {inside}\n  </zone>\n</platform>\n'
    )


def _properties(properties: Iterable[tuple[str, str]]) -> str:
    """The end of the element of a host, with its properties in it."""
    lines = [f'<prop id="{escape(key)}" value="{escape(value)}"/>' for key, value in properties]
    return f">{''.join(lines)}</host>" if lines else "/>"


def _text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InputError(f"expected finite numbers, got {shown(value)}") from None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"expected texts that UTF-8 can have, got {shown(value)}") from None
    return text


def _name(full: str, workload: str) -> str:
    """A name as files have it: inside its workload, or the full name if it contains the name of the workload."""
    local = full[len(workload) + 1 :]
    if workload not in local:
        return local
    if "!" in local:
        raise InputError(f"{shown(full)} contains the name of its workload, so it must have no other !")
    return full


def _jobs(workload: Workload) -> Iterator[dict[str, Any]]:
    for time, id, job in workload:
        given: dict[str, Any] = {"id": _name(id, workload.name), "subtime": time, "res": job.resource_request}
        given["profile"] = _name(job.profile_id, workload.name)
        if job.walltime is not None:
            given["walltime"] = job.walltime
        if job.extra_data is not None:
            given["extra_data"] = job.extra_data
        yield given


def _profile(name: str, profile: WorkloadProfile, cut: int) -> dict[str, Any]:
    given: dict[str, Any] = {"type": type(profile.profile).__name__, **_members(profile.profile, cut)}
    if profile.return_code:
        given["ret"] = profile.return_code
    if profile.extra_data is not None:
        given["extra_data"] = profile.extra_data
    try:
        profile_of(given, compositions=True)
    except InputError as error:
        raise InputError(error.reason, f"profiles.{name}.{error.path}") from None
    return given


def _members(profile: Profile, cut: int) -> dict[str, Any]:
    """The keys of a profile of each type; the names in it are full names."""
    match profile:
        case DelayProfile(delay=delay):
            return {"delay": delay}
        case ParallelTaskProfile(computation_vector=cpu, communication_matrix=com):
            vectors = {"cpu": cpu, "com": com}
            return {key: list(vector) for key, vector in vectors.items() if vector is not None}
        case ParallelTaskHomogeneousProfile():
            amounts = {"cpu": profile.computation_amount, "com": profile.communication_amount}
            return {**amounts, "generation_strategy": profile.generation_strategy.name}
        case SequentialCompositionProfile():
            return {"repeat": profile.repetition_count, "seq": [name[cut:] for name in profile.profile_ids]}
        case ForkJoinCompositionProfile() | ParallelTaskMergeCompositionProfile():
            return {"profiles": [name[cut:] for name in profile.profile_ids]}
        case ParallelTaskOnStorageHomogeneousProfile():
            return {
                "storage": profile.storage_name,
                "bytes_to_read": profile.bytes_to_read,
                "bytes_to_write": profile.bytes_to_write,
                "generation_strategy": profile.generation_strategy.name,
            }
        case ParallelTaskDataStagingBetweenStoragesProfile():
            ends = {"from": profile.emitter_storage_name, "to": profile.receiver_storage_name}
            return {"nb_bytes": profile.bytes_to_transfer, **ends}
        case TraceReplayProfile():
            return {"trace_type": profile.trace_type.name, "filename": profile.filename}
