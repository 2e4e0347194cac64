"""The output of `gridevents` and `gridclusters` of CiGri 3."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from batprotocol.campaigns.model import Cluster, Event, exit_text
from batprotocol.campaigns.ruby import as_ruby
from batprotocol.campaigns.text.times import stamp

__all__ = ["cluster_details", "clusters_list", "events_list", "explained"]

_LINE = "-" * 78
_EXIT_STATUS = re.compile(r"(?<=^The job exited with )exit status ([0-9]{1,9})(?=;)")


def events_list(events: Iterable[Event]) -> str:
    """Events, with their descriptions.

    >>> print(events_list([]))
    No events!
    """
    parts = [_event(each) for each in events]
    return "\n".join([_LINE, *(part for each in parts for part in (each, _LINE))]) if parts else "No events!"


def explained(event: Event) -> Event:
    """The event, with the exit status in its message explained.

    CiGri reports the status that `wait` returns. Most users know the exit code only.

    >>> explained(Event(class_="job", code="EXIT_ERROR", message="The job exited with exit status 768;")).message
    'The job exited with exit status 768, which is exit code 3;'
    """
    message = _EXIT_STATUS.sub(lambda found: f"{found[0]}, which is {exit_text(int(found[1]))}", event.message)
    return msgspec.structs.replace(event, message=message)


def _event(event: Event) -> str:
    words = [f"{event.id}: ({event.state}) {event.code}"]
    if event.job is not None:
        words.append(f"of job {event.job}")
    words.append(f"at {stamp(event.date)}")
    if event.cluster is not None:
        words.append(f"on {event.cluster}")
    if event.parent is not None:
        words.append(f"because of {event.parent}")
    return "\n".join([" ".join(words), *([event.message] if event.message else [])])


def clusters_list(clusters: Iterable[Cluster], blacklisted: frozenset[str] = frozenset(), *, info: bool = False) -> str:
    """The clusters, one per line; with `info`, their states.

    >>> print(clusters_list([Cluster(name="alpha", id=1, stress_factor=0.1)], info=True))
    1: alpha ,  (stress:0.1/0.8)
    """
    return "\n".join(
        f"{each.id}: {each.name}" + (_state(each, each.name in blacklisted) if info else "") for each in clusters
    )


def _stress(cluster: Cluster) -> str:
    return f"{'' if cluster.stress_factor is None else cluster.stress_factor}/{cluster.stress_limit}"


def _state(cluster: Cluster, blacklisted: bool) -> str:
    ban, stress = "BLACKLISTED" if blacklisted else "", "UNDER_STRESS" if cluster.under_stress else ""
    return f" {ban}, {stress} (stress:{_stress(cluster)})"


def cluster_details(cluster: Cluster, *, blacklisted: bool = False) -> str:
    """One cluster with all of its fields."""
    rows: dict[str, object] = {
        "id": cluster.id,
        "name": cluster.name,
        **dict(cluster.details),
        "batch": cluster.batch,
        "resource_unit": cluster.resource_unit,
        "power": f"{cluster.power:g}",
        "stress_factor": _stress(cluster),
        "enabled": as_ruby(cluster.enabled),
        "blacklisted": as_ruby(blacklisted),
        "under_stress": as_ruby(cluster.under_stress),
    }
    return "\n".join([f"{cluster.id}: {cluster.name}", *(f"    {key}: {value}" for key, value in rows.items())])
