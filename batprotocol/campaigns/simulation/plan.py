"""The plan of a simulated grid: clusters, campaigns and settings. As JSON, it is the initialization data."""

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
"""The name of the cluster if all hosts are in one."""


class CampaignPlan(Record, frozen=True, kw_only=True):
    """A campaign of the plan.

    Args:
        jdl: the keys of its JDL, as in CiGri 3. A word `d=SECONDS` in the parameters of a task is the duration of the
            task.
        user: the name of its user.
        submission_time: the time of its submission, in simulated seconds.
        duration: the default duration of a task on a cluster of power 1, in seconds.
        type: a test or not.
    """

    jdl: Mapping[str, Any]
    user: str = "user"
    submission_time: float = 0.0
    duration: float = 60.0
    type: CampaignType = CampaignType.DEFAULT

    def read(self, clusters: Iterable[str]) -> Submitted:
        """The campaign, for these clusters. It raises `InputError` if the JDL is wrong."""
        return read_jdl(json.dumps(self.jdl), user=self.user, clusters=list(clusters), type=self.type)


class GridPlan(Record, frozen=True, kw_only=True):
    """A simulated grid.

    Args:
        campaigns: the campaigns.
        clusters: the clusters by name: the number of hosts of each, in the order of the hosts, or its hosts, as a host
            set. If it is empty, `cluster_property` defines the clusters.
        cluster_property: the property of a host, or of its zone, that has the name of its cluster. Hosts without it are
            in no cluster. If no host has it, all hosts are one cluster.
        power: the speed of the hosts of a cluster; the default is 1.
        queue: the policy for the clusters' own jobs: `fcfs` or `easy`.
        cycle: the time from one cycle to the next, in seconds, > 0.
        settings: the settings of the grid.
        priorities: the priorities of users on clusters.
        stop: whether to stop the simulation when the campaigns have ended, and not to wait for the workloads.
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
            InputError: a cluster has no such hosts, or two clusters have a host in common.
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
    """Read the plan in a text of JSON, with the names of `GridPlan`.

    Raises:
        InputError: it is not a plan; the error has the place.

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
    """The duration of a task by the word `d=SECONDS` of its parameters, or None."""
    for word in parameters.split():
        if word.startswith("d="):
            try:
                seconds = float(word[2:])
            except ValueError:
                continue
            return seconds if 0 < seconds < math.inf else None
    return None
