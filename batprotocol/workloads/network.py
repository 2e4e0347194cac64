"""The network of a platform: links, and the routes that lead over them from host to host."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

__all__ = ["LOOPBACK", "NO_ROUTE", "Link", "Route"]


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link in one direction, or one whose directions share the bandwidth.

    A SPLITDUPLEX link of a platform file is two of these, NAME_UP and NAME_DOWN.

    Args:
        name: its name, unique in the platform.
        bandwidth: bytes per second, > 0.
        latency: seconds, >= 0.
        fatpipe: whether every transfer gets the whole bandwidth (sharing policy FATPIPE).
    """

    name: str
    bandwidth: float
    latency: float
    fatpipe: bool = False


LOOPBACK = Link("__loopback__", 10e9, 0.0, True)
"""SimGrid's link between a host and itself where the platform does not define one."""


class Route(NamedTuple):
    """The route of bytes from one host to another.

    Args:
        links: the links in order; empty where there is no route.
        latency: the sum of their latencies in seconds, added up in SimGrid's order (the last bits depend on it).
    """

    links: tuple[Link, ...]
    latency: float

    @property
    def bandwidth(self) -> float:
        """The smallest bandwidth of the links in bytes per second; infinite without a link."""
        return min((link.bandwidth for link in self.links), default=float("inf"))

    @property
    def message_cost(self) -> float:
        """Seconds that a message of one byte takes; 0 where there is no route."""
        return self.latency + 1 / self.bandwidth if self.links else 0.0


NO_ROUTE = Route((), 0.0)
"""The route between hosts that are not connected. Messages take no time there."""
