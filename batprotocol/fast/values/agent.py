"""What is said to the agent of a node and by it: its start, the performance indicators (KPIs), and mmbwmon, which
measures how much memory bandwidth is left.
"""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.fast.values.base import U32, U64, FastMessage, Part
from batprotocol.model.fields import TupleOf
from batprotocol.model.value import tuples_into

__all__ = [
    "KPI",
    "Configuration",
    "Init",
    "InitAgent",
    "JobDescription",
    "KPIConfiguration",
    "MmbwmonRequest",
    "MmbwmonResponse",
    "MmbwmonRestart",
    "MmbwmonRestartAck",
    "MmbwmonStop",
    "MmbwmonStopAck",
    "StopMonitoring",
    "SystemInfo",
]


class Init(FastMessage, frozen=True):
    """`init`: the agent of a node has started.

    Args:
        hostname: the node. The specification calls it `source`.
    """

    hostname: str


class KPIConfiguration(Part, frozen=True):
    """Which indicators an agent reports, and how often.

    Args:
        categories: the indicators, each with a value such as `100` or `high`.
        repeat: the time between two reports, in seconds.
    """

    categories: Mapping[str, str]
    repeat: U32


class InitAgent(FastMessage, frozen=True):
    """`init agent`: the scheduler configures the agent of a node.

    Args:
        kpi: what it is to report.
    """

    kpi: KPIConfiguration


class Configuration(FastMessage, frozen=True):
    """`configuration`: the agent accepts or denies its configuration. It is in the specification only.

    Args:
        source: the node.
        status: `accepted` or `denied`.
    """

    source: str
    status: str


class KPI(FastMessage, frozen=True):
    """`KPI`: the agent reports indicators. It is in the specification only.

    Args:
        source: the node.
        kpis: the indicators and their values.
    """

    source: str
    kpis: Mapping[str, str]


class JobDescription(Part, frozen=True):
    """What is monitored.

    Args:
        job_id: the job.
        process_id: the process of its virtual machine.
    """

    job_id: str
    process_id: U32


class StopMonitoring(FastMessage, frozen=True):
    """`stop monitoring`: the agent stops to watch a job.

    Args:
        job_description: which.
    """

    job_description: JobDescription


class MmbwmonRequest(FastMessage, frozen=True):
    """Measure the memory bandwidth that is left to these cores. What runs on them must be suspended before.

    Args:
        cores: the numbers of the cores.
    """

    cores: TupleOf[U64] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "cores")


class MmbwmonResponse(FastMessage, frozen=True):
    """The memory bandwidth that is left to these cores.

    Args:
        cores: the numbers of the cores.
        result: the share of the full bandwidth, from 0.33 to 1 by the specification; it is not checked, and may be NaN
            or infinite. The specification calls it `response`.
    """

    cores: TupleOf[U64]
    result: float

    def __post_init__(self) -> None:
        tuples_into(self, "cores")


class MmbwmonStop(FastMessage, frozen=True):
    """Stop the processes of a cgroup.

    Args:
        cgroup: its name or path.
    """

    cgroup: str


class MmbwmonStopAck(FastMessage, frozen=True):
    """The processes of the cgroup are stopped. It says nothing more."""


class MmbwmonRestart(FastMessage, frozen=True):
    """Let the processes of a cgroup go on.

    Args:
        cgroup: its name or path.
    """

    cgroup: str


class MmbwmonRestartAck(FastMessage, frozen=True):
    """The processes of the cgroup go on. It says nothing more."""


class SystemInfo(FastMessage, frozen=True):
    """What mmbwmon knows of a node. It is kept in a file, and travels on no topic.

    Args:
        threads: how many hardware threads there are.
        smt: how many of them share a core.
        numa: how many NUMA nodes there are.
        bandwidth: the bandwidth that was measured with one thread, two and so on.
    """

    threads: U64
    smt: U64
    numa: U64
    bandwidth: TupleOf[float] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "bandwidth")
