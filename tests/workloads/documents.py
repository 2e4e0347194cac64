"""Writers of the files that the simulator reads, from its own values, and generated platform files."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    SequentialCompositionProfile,
)
from batprotocol.workloads import Workload, WorkloadProfile


def profile_document(given: WorkloadProfile) -> dict[str, Any]:
    """A profile as a workload file has it."""
    profile = given.profile
    document: dict[str, Any] = {"type": type(profile).__name__}
    if given.return_code:
        document["ret"] = given.return_code
    if given.extra_data is not None:
        document["extra_data"] = given.extra_data
    match profile:
        case DelayProfile():
            document["delay"] = profile.delay
        case ParallelTaskProfile():
            if profile.computation_vector is not None:
                document["cpu"] = list(profile.computation_vector)
            if profile.communication_matrix is not None:
                document["com"] = list(profile.communication_matrix)
        case ParallelTaskHomogeneousProfile():
            document |= {"cpu": profile.computation_amount, "com": profile.communication_amount}
            document["generation_strategy"] = profile.generation_strategy.name
        case SequentialCompositionProfile():
            document |= {"repeat": profile.repetition_count, "seq": list(profile.profile_ids)}
        case ForkJoinCompositionProfile() | ParallelTaskMergeCompositionProfile():
            document["profiles"] = list(profile.profile_ids)
        case ParallelTaskOnStorageHomogeneousProfile():
            document |= {"bytes_to_read": profile.bytes_to_read, "bytes_to_write": profile.bytes_to_write}
            document |= {"storage": profile.storage_name, "generation_strategy": profile.generation_strategy.name}
    return document


def workload_document(workload: Workload, *, full_names: bool = False) -> dict[str, Any]:
    """A workload as a file has it; its names with the workload's own in front, or without."""
    cut = 0 if full_names else len(workload.name) + 1
    jobs = []
    for time, id, job in workload:
        document = {"id": id[cut:], "subtime": time, "res": job.resource_request, "profile": job.profile_id[cut:]}
        if job.walltime is not None:
            document["walltime"] = job.walltime
        if job.extra_data is not None:
            document["extra_data"] = job.extra_data
        jobs.append(document)
    profiles = {name[cut:]: profile_document(profile) for name, profile in workload.profiles.items()}
    return {"nb_res": max(workload.resource_count, 1), "jobs": jobs, "profiles": profiles}


def workload_text(workload: Workload, **options: bool) -> str:
    """The text of a workload file."""
    return json.dumps(workload_document(workload, **options), ensure_ascii=False)


class Sketch(NamedTuple):
    """A flat platform file, and what it should mean.

    Args:
        text: the file.
        hosts: (name, speed, cores) of its computation hosts, in the order of the file.
        links: latency and bandwidth of each link, by name.
        routes: the links between neighbours, in both directions.
        routing: the routing of its zone.
    """

    text: str
    hosts: list[tuple[str, float, int]]
    links: dict[str, tuple[float, float]]
    routes: dict[tuple[str, str], list[str]]
    routing: str


def element(tag: str, **attributes: object) -> str:
    """An element without children."""
    return f"<{tag} {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())}/>"


@st.composite
def sketches(draw: DrawFn) -> Sketch:
    """Files with one zone of hosts, links and routes in one or both directions."""
    routing = draw(st.sampled_from(("Full", "Floyd", "Dijkstra", "DijkstraCache", "None")))
    numbers = draw(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True))
    hosts = [(f"n{n}", draw(st.sampled_from((1e6, 2.5e9))), draw(st.integers(1, 4))) for n in numbers]
    lines = [element("host", id="master_host", speed="1Gf")]
    lines += [element("host", id=name, speed=f"{speed / 1e6!r}Mf", core=cores) for name, speed, cores in hosts]
    links = {}
    for number in range(draw(st.integers(1, 4))):
        latency, bandwidth = draw(st.integers(0, 1000)), draw(st.integers(1, 1000))
        links[f"l{number}"] = (latency * 1e-6, bandwidth * 1e6)
        lines.append(element("link", id=f"l{number}", latency=f"{latency}us", bandwidth=f"{bandwidth}MBps"))
    names = ["master_host", *(name for name, _, _ in hosts)]
    routes: dict[tuple[str, str], list[str]] = {}
    if routing != "None":
        pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
        for source, target in draw(st.lists(pairs, max_size=10)):
            way = draw(st.lists(st.sampled_from(sorted(links)), min_size=1, max_size=3, unique=True))
            symmetrical = draw(st.booleans())
            if (source, target) in routes or (symmetrical and (target, source) in routes):
                continue
            routes[source, target] = way
            if symmetrical and source != target:
                routes[target, source] = way[::-1]
            inner = "".join(element("link_ctn", id=link) for link in way)
            lines.append(
                f'<route src="{source}" dst="{target}" symmetrical="{"YES" if symmetrical else "NO"}">{inner}</route>'
            )
    inside = "\n  ".join(lines)
    text = f'<platform version="4.1">\n <zone id="z" routing="{routing}">\n  {inside}\n </zone>\n</platform>\n'
    return Sketch(text, hosts, links, routes, routing)
