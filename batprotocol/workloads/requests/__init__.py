"""The vocabulary of jobs that ask for more than a number of equal hosts, and of hosts that offer more than one core.

Jobs ask in their extra data, a JSON object; hosts offer in their properties. Names and meanings are Slurm's where
Slurm has one. `vocabulary` lists the keys of both. `request` reads what a job asks for, with the notations of
`notation`. `offers` reads what a host offers, and matches the two: the hosts that a job can ever have, or why there are
none. `dependencies` decides when the dependencies of jobs are satisfied. `usage` has what schedulers report of the jobs
that they start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.workloads.requests.dependencies import (
        Dependencies,
        DependencyVerdict,
        check_requests,
        longest_paths,
    )
    from batprotocol.workloads.requests.notation import (
        Condition,
        Constraint,
        Dependency,
        Gres,
        Moment,
        expanded_names,
        folded_names,
    )
    from batprotocol.workloads.requests.offers import Offer, OfferedHosts, read_offer
    from batprotocol.workloads.requests.request import (
        ArrayTask,
        Recording,
        Request,
        asks_for_a_part,
        moved_recording,
        read_request,
        with_recording,
    )
    from batprotocol.workloads.requests.usage import Allocated, AttemptReport
    from batprotocol.workloads.requests.vocabulary import host_schema, request_schema

__all__ = [
    "Allocated",
    "ArrayTask",
    "AttemptReport",
    "Condition",
    "Constraint",
    "Dependencies",
    "Dependency",
    "DependencyVerdict",
    "Gres",
    "Moment",
    "Offer",
    "OfferedHosts",
    "Recording",
    "Request",
    "asks_for_a_part",
    "check_requests",
    "expanded_names",
    "folded_names",
    "host_schema",
    "longest_paths",
    "moved_recording",
    "read_offer",
    "read_request",
    "request_schema",
    "with_recording",
]

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "dependencies": ("Dependencies", "DependencyVerdict", "check_requests", "longest_paths"),
    "notation": ("Condition", "Constraint", "Dependency", "Gres", "Moment", "expanded_names", "folded_names"),
    "offers": ("Offer", "OfferedHosts", "read_offer"),
    "request": (
        "ArrayTask",
        "Recording",
        "Request",
        "asks_for_a_part",
        "moved_recording",
        "read_request",
        "with_recording",
    ),
    "usage": ("Allocated", "AttemptReport"),
    "vocabulary": ("host_schema", "request_schema"),
}

__getattr__ = old_names(
    __name__,
    {"Attempt": "AttemptReport", "Site": "OfferedHosts", "Verdict": "DependencyVerdict"},
    late={name: module for module, names in _MODULES.items() for name in names},
)
