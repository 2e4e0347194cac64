"""The plan of a simulated grid: its clusters, its campaigns, how it is run. As JSON, it is the initialization data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from batprotocol import FrozenHosts, Host, Hosts
from batprotocol.campaigns.jdl import Submitted, read_jdl
from batprotocol.campaigns.model import CampaignType, Settings, UserPriority
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.simulation.local_queue import QueuePolicy
from batprotocol.errors import HostsError, HostSetError, InputError, shown

__all__ = ["CampaignPlan", "GridPlan", "read_plan", "seconds_in"]

ONLY_CLUSTER: Final = "cluster"
"""The name of the cluster where nothing tells the hosts apart."""


class CampaignPlan(Record, frozen=True, kw_only=True):
    """A campaign that is to come.

    Args:
        jdl: the members of its JDL, as CiGri 3 has them. Of each task's parameters, a word `d=SECONDS` says how long it
            takes.
        user: whose it is.
        submission_time: when it is submitted, in simulated seconds.
        duration: how many seconds a task takes that does not say, on a cluster of power 1.
        type: a test or not.
    """

    jdl: Mapping[str, Any]
    user: str = "user"
    submission_time: float = 0.0
    duration: float = 60.0
    type: CampaignType = CampaignType.DEFAULT

    def read(self, clusters: Iterable[str]) -> Submitted:
        """The campaign, for these clusters. `InputError` if there is something wrong with it."""
        return read_jdl(json.dumps(self.jdl), user=self.user, clusters=list(clusters), type=self.type)


class GridPlan(Record, frozen=True, kw_only=True):
    """A grid that is simulated.

    Args:
        campaigns: the campaigns.
        clusters: the clusters by their names: how many hosts each has, in the order of the hosts, or which, as a host
            set. Without any, `cluster_property` tells.
        cluster_property: the property of a host, or of its zone, that names its cluster; hosts without are in none. If
            no host has it, all hosts are one cluster.
        power: how fast the hosts of a cluster are; 1 unless told otherwise.
        queue: how the clusters' own jobs are queued: `fcfs` or `easy`.
        cycle: how many seconds are between two cycles, > 0.
        settings: how the grid is run.
        priorities: how much users are preferred on clusters.
        stop: stop the simulation when the campaigns have ended, rather than when the workloads have, too.
    """

    campaigns: tuple[CampaignPlan, ...] = ()
    clusters: Mapping[str, int | str] = msgspec.field(default_factory=dict)
    cluster_property: str = "cluster"
    power: Mapping[str, float] = msgspec.field(default_factory=dict)
    queue: QueuePolicy = "fcfs"
    cycle: float = 15.0
    settings: Settings = Settings()
    priorities: tuple[UserPriority, ...] = ()
    stop: bool = False

    def share(self, hosts: Iterable[Host]) -> dict[str, FrozenHosts]:
        """The hosts of each cluster.

        Raises:
            InputError: there are no such hosts, or two clusters want the same.
        """
        all_hosts = list(hosts)
        if not self.clusters:
            return self._by_property(all_hosts)
        free = Hosts(host.id for host in all_hosts)
        shares = {}
        for name, wanted in self.clusters.items():
            try:
                shares[name] = free.take(wanted) if isinstance(wanted, int) else free.take_these(wanted)
            except (HostsError, HostSetError) as error:
                raise InputError(str(error), f"clusters.{name}") from None
        return shares

    def _by_property(self, hosts: list[Host]) -> dict[str, FrozenHosts]:
        found: dict[str, list[int]] = {}
        for host in hosts:
            properties = (*(host.properties or ()), *(host.zone_properties or ()))
            name = next((each.value for each in properties if each.key == self.cluster_property), None)
            if name is not None:
                found.setdefault(name, []).append(host.id)
        shares = found or {ONLY_CLUSTER: [host.id for host in hosts]}
        return {name: Hosts(ids).take(len(ids)) for name, ids in shares.items()}


def read_plan(text: str) -> GridPlan:
    """The plan in a text of JSON, with the names of `GridPlan`.

    Raises:
        InputError: it is none; it says where.

    >>> read_plan('{"clusters": {"a": 4}, "cycle": 30}').cycle
    30.0
    """
    try:
        plan = msgspec.json.decode(text or "{}", type=GridPlan)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise InputError(f"{reason[:1].lower()}{reason[1:]}", place.strip("`").removeprefix(".")) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"expected a plan of a grid in JSON: {error}") from None
    if not 0 < plan.cycle < math.inf:
        raise InputError(f"expected seconds above 0, got {shown(plan.cycle)}", "cycle")
    for number, campaign in enumerate(plan.campaigns):
        if not 0 < campaign.duration < math.inf:
            raise InputError(
                f"expected seconds above 0, got {shown(campaign.duration)}", f"campaigns[{number}].duration"
            )
    for name, power in plan.power.items():
        if not 0 < power < math.inf:
            raise InputError(f"expected a number above 0, got {shown(power)}", f"power.{name}")
    return plan


def seconds_in(parameters: str) -> float | None:
    """How long a task takes, by the word `d=SECONDS` of its parameters; None if it does not say."""
    for word in parameters.split():
        if word.startswith("d="):
            try:
                seconds = float(word[2:])
            except ValueError:
                continue
            return seconds if 0 < seconds < math.inf else None
    return None
