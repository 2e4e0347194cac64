"""The vocabulary of jobs that ask for more than a number of equal hosts, and of hosts that offer more than one core.

Jobs ask in their extra data, a JSON object; hosts offer in their properties. Names and meanings are Slurm's where
Slurm has one. `keys` lists the keys of both. `request` reads what a job asks for, `offer` what a host offers; they
use `amounts` (memory, generic resources, times), `features` (constraints), `dependencies`, `recordings` (what a log
says about a job) and `ranges` (names of hosts). `fitting` matches the two: the hosts that a job can ever have, or why
there are none. `waiting` decides when the dependencies of jobs are satisfied, with `circles` for jobs that wait for
each other. `checking` checks the requests of whole workloads. `paths` has the longest paths through such jobs, `lives`
the ids of jobs that run again, `attempts` how their runs ended, `allocated` what started jobs take of their hosts, and
`usage` how many hosts are in use where jobs share them. `schema` writes the vocabulary as JSON schema.

This package must not know schedulers.
"""

from __future__ import annotations

from batprotocol.workloads.requests.allocated import Allocated
from batprotocol.workloads.requests.amounts import Gres, Moment
from batprotocol.workloads.requests.attempts import Attempt
from batprotocol.workloads.requests.checking import check_requests
from batprotocol.workloads.requests.dependencies import Condition, Dependency
from batprotocol.workloads.requests.features import Constraint
from batprotocol.workloads.requests.fitting import Site
from batprotocol.workloads.requests.offer import Offer, read_offer
from batprotocol.workloads.requests.paths import longest_paths
from batprotocol.workloads.requests.ranges import expanded_names, folded_names
from batprotocol.workloads.requests.recordings import Recording, moved_recording, with_recording
from batprotocol.workloads.requests.request import ArrayTask, Request, read_request
from batprotocol.workloads.requests.schema import host_schema, request_schema
from batprotocol.workloads.requests.waiting import Dependencies, Verdict

__all__ = [
    "Allocated",
    "ArrayTask",
    "Attempt",
    "Condition",
    "Constraint",
    "Dependencies",
    "Dependency",
    "Gres",
    "Moment",
    "Offer",
    "Recording",
    "Request",
    "Site",
    "Verdict",
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
