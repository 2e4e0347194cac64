"""The offers of hosts, and the hosts that a job can ever have: its request against the offers when nothing runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import Host
from batprotocol.workloads.requests.notation import Expression, Gres, matches, parse_count, parse_gres, parse_memory
from batprotocol.workloads.requests.request import Request

__all__ = [
    "Needs",
    "Offer",
    "OfferedHosts",
    "needs_of",
    "read_offer",
]


# Offers

_READ: Final = ("partitions", "features", "cores", "memory", "gres", "weight")


class Offer(msgspec.Struct, frozen=True, gc=False):
    """The offer of a host. `HOST_KEYS` has the meaning of each key.

    Attributes:
        id: the number of the host.
        name: its name, which jobs can ask for.
        cores: its cores.
        memory: its memory in bytes; None: not limited.
        gres: its generic resources, with types where they have one.
        partitions: the partitions that it belongs to; empty: all.
        features: what constraints can name.
        weight: hosts with a smaller weight are allocated first.
    """

    id: int
    cores: int
    memory: int | None = None
    gres: tuple[Gres, ...] = ()
    partitions: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    weight: int = 1
    name: str = ""


def read_offer(host: Host) -> Offer:
    """The offer of a host, by its properties and cores.

    Raises:
        InputError: a property of the vocabulary has a value that it cannot have; `path` names host and property.
    """
    given = {each.key: each.value for each in host.properties or ()}
    values = {key: given[key] for key in _READ if given.get(key)}
    offer = Offer(host.id, max(host.core_count, 1), name=host.name)
    for key, value in values.items():
        try:
            if key == "gres":
                offer = msgspec.structs.replace(offer, gres=parse_gres(value))
            elif key == "memory":
                offer = msgspec.structs.replace(offer, memory=parse_memory(value))
            elif key == "cores":
                offer = msgspec.structs.replace(offer, cores=parse_count(value, 1))
            elif key == "weight":
                offer = msgspec.structs.replace(offer, weight=parse_count(value))
            else:
                names = tuple(name.strip() for name in value.split(",") if name.strip())
                if key == "features":
                    offer = msgspec.structs.replace(offer, features=frozenset(names))
                else:
                    offer = msgspec.structs.replace(offer, partitions=names)
        except InputError as error:
            raise InputError(error.reason, f"host {host.name}: property {key}") from None
    return offer


class Needs(NamedTuple):
    """The amounts that a job takes of each of its hosts.

    Attributes:
        cores: cores; 0 if the job does not ask for cores.
        memory: bytes of memory.
        gres: generic resources.
    """

    cores: int
    memory: int
    gres: tuple[Gres, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether any host has what the job takes."""
        return not (self.cores or self.memory or self.gres)

    def __str__(self) -> str:
        parts = [f"{self.cores} cores"] if self.cores else []
        parts += [f"{self.memory / 2**30:g} GiB"] if self.memory else []
        return " and ".join([*parts, *map(str, self.gres)]) or "nothing but a host"


def needs_of(request: Request, hosts: int) -> Needs:
    """The amounts that a job takes of each of its hosts: all give as much as the one with the most tasks.

    Args:
        request: what the job asks for.
        hosts: how many hosts it asks for, >= 1.
    """
    times = math.ceil(request.tasks / hosts) if request.per == "task" and request.tasks else 1
    cores = request.cores or 0
    if request.tasks and not cores:
        cores, each = 1, math.ceil(request.tasks / hosts)  # a task has a core, as in Slurm
        return Needs(cores * each, (request.memory or 0) * times, _times(request.gres, times))
    return Needs(cores * times, (request.memory or 0) * times, _times(request.gres, times))


def _times(gres: tuple[Gres, ...], times: int) -> tuple[Gres, ...]:
    return gres if times == 1 else tuple(Gres(name, type, count * times) for name, type, count in gres)


def gives(offered: Iterable[Gres], wanted: Iterable[Gres]) -> bool:
    """Whether generic resources are enough: those of a type first, then those of any type from what remains."""
    free: dict[tuple[str, str | None], int] = {(name, type): count for name, type, count in offered}
    untyped = []
    for name, type, count in wanted:
        if type is None:
            untyped.append((name, count))
        elif free.get((name, type), 0) < count:
            return False
        else:
            free[name, type] -= count
    return all(sum(number for (kind, _), number in free.items() if kind == name) >= count for name, count in untyped)


class OfferedHosts:
    """The hosts of a machine with what they offer.

    Args:
        hosts: the computation hosts, as `SimulationBeginsEvent` lists them.

    Raises:
        InputError: a property of a host has a value that it cannot have.

    >>> from batprotocol.model import Host, HostProperty
    >>> from batprotocol.workloads.requests import read_request
    >>> gpu = Host(id=0, name="g0", core_count=8, properties=[HostProperty("gres", "gpu:2")], computation_speed=[1.0])
    >>> site = OfferedHosts([gpu, Host(id=1, name="n0", core_count=8, computation_speed=[1.0])])
    >>> sorted(site.eligible(read_request('{"gres": {"gpu": 1}}'), 1))
    [0]
    >>> site.refusal(read_request('{"gres": {"gpu": 4}}'), 1)
    'no host has gpu:4'
    """

    def __init__(self, hosts: Iterable[Host] = ()) -> None:
        self.offers: tuple[Offer, ...] = tuple(read_offer(host) for host in hosts)
        self.partitions = frozenset(name for offer in self.offers for name in offer.partitions)
        self._eligible: dict[tuple[object, ...], frozenset[int]] = {}

    def eligible(self, request: Request, hosts: int, partition: str | None = None) -> frozenset[int]:
        """The hosts that can be among those of a job: each has what the job takes of it, and matches the constraint.

        Args:
            request: what the job asks for.
            hosts: how many hosts it asks for.
            partition: one of its partitions; None: any of them.
        """
        needs = needs_of(request, hosts)
        places = request.partition if partition is None else (partition,)
        key = (needs, request.constraint, places, request.exclude)
        found = self._eligible.get(key)
        if found is None:
            excluded = frozenset(request.exclude)
            found = frozenset(self._find(request, needs, places, excluded))
            self._eligible[key] = found
        return found

    def _find(self, request: Request, needs: Needs, places: tuple[str, ...], excluded: frozenset[str]) -> Iterable[int]:
        constraint = request.constraint
        for offer in self.offers:
            if (
                _in_partition(offer, places)
                and offer.name not in excluded
                and offer.cores >= needs.cores
                and (offer.memory is None or offer.memory >= needs.memory)
                and gives(offer.gres, needs.gres)
                and (constraint is None or matches(constraint.each, offer.features))
            ):
                yield offer.id

    def refusal(self, request: Request, hosts: int) -> str | None:
        """Why a job can never run on these hosts, as the end of a sentence; None if it can.

        Args:
            request: what the job asks for.
            hosts: how many hosts it asks for.
        """
        offers, needs = self.offers, needs_of(request, hosts)
        for name in request.partition:
            if name not in self.partitions:
                return f"there is no partition {name!r}; there are {_listed(self.partitions)}"
        offers = tuple(offer for offer in offers if _in_partition(offer, request.partition))
        where = f" of partition {','.join(request.partition)}" if request.partition else ""
        for gres in needs.gres:
            if not any(gives(offer.gres, [gres]) for offer in offers):
                return f"no host{where} has {gres}"
        constraint = request.constraint
        if constraint is not None:
            known = frozenset(feature for offer in self.offers for feature in offer.features)
            unknown = sorted(constraint.names() - known)
            if unknown and not self._count(offers, constraint.each):
                return f"no host has the feature {unknown[0]!r}; there are {_listed(known)}"
        fitting = self.eligible(request, hosts)
        but = " and is not excluded" if request.exclude else ""
        if not fitting and request.exclude and constraint is None and needs.is_nothing:
            return f"all hosts{where} are excluded"
        if not fitting:
            return f"no host{where} has {needs}" + (f" and matches {constraint.text!r}" if constraint else "") + but
        if len(fitting) < hosts:
            matching = f" and match {constraint.text!r}" if constraint else ""
            but = " and are not excluded" if request.exclude else ""
            return f"it asks for {hosts} hosts, and {len(fitting)}{where} have {needs}{matching}{but}"
        if request.nodelist:
            reason = self._refusal_of_names(request.nodelist, hosts, fitting)
            if reason is not None:
                return reason
        return self._refusal_together(request, hosts, fitting)

    def _refusal_of_names(self, names: tuple[str, ...], hosts: int, fitting: frozenset[int]) -> str | None:
        if len(names) > hosts:
            return f"it asks for {hosts} hosts, and names {len(names)} that it must have"
        known = {offer.name: offer.id for offer in self.offers}
        for name in names:
            if name not in known:
                return f"there is no host {name!r}, which it must have"
            if known[name] not in fitting:
                return f"host {name}, which it must have, does not have all that it asks for"
        return None

    def _refusal_together(self, request: Request, hosts: int, fitting: frozenset[int]) -> str | None:
        constraint = request.constraint
        if constraint is None:
            return None
        offers = [offer for offer in self.offers if offer.id in fitting]
        if constraint.same and max(self._count(offers, each) for each in constraint.same) < hosts:
            return f"it asks for {hosts} hosts, and no alternative of {constraint.text!r} has so many"
        for count, expression in constraint.counts:
            found = self._count(offers, expression)
            if found < count:
                return f"{constraint.text!r} asks for {count} hosts of a kind, and there are {found}"
        return None

    def _count(self, offers: Iterable[Offer], expression: Expression | None) -> int:
        return sum(matches(expression, offer.features) for offer in offers)


def _in_partition(offer: Offer, places: tuple[str, ...]) -> bool:
    return not places or any(place in offer.partitions for place in places)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:20]) or "none"
