"""The offer of a host: the vocabulary's keys in its properties, read and checked."""

from __future__ import annotations

from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import Host
from batprotocol.workloads.requests.amounts import Gres, parse_count, parse_gres, parse_memory

__all__ = ["Offer", "read_offer"]

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
