"""The messages to the agent of a node and from it: its start, the performance indicators (KPIs), and mmbwmon, which
measures the available memory bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.fast.values.base import U32, U64, FastMessage, Part
from batprotocol.model.value import TupleOf, tuples_into

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
    """The indicators that an agent reports, and the interval.

    Args:
        categories: the indicators, each with a value such as `100` or `high`.
        repeat: the time between two reports, in seconds.
    """

    categories: Mapping[str, str]
    repeat: U32


class InitAgent(FastMessage, frozen=True):
    """`init agent`: the scheduler configures the agent of a node.

    Args:
        kpi: the indicators to report.
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
    """The job that is monitored.

    Args:
        job_id: the job.
        process_id: the process of its virtual machine.
    """

    job_id: str
    process_id: U32


class StopMonitoring(FastMessage, frozen=True):
    """`stop monitoring`: the agent stops monitoring a job.

    Args:
        job_description: the job.
    """

    job_description: JobDescription


class MmbwmonRequest(FastMessage, frozen=True):
    """Measure the available memory bandwidth of these cores. Suspend the processes on them before.

    Args:
        cores: the numbers of the cores.
    """

    cores: TupleOf[U64] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "cores")


class MmbwmonResponse(FastMessage, frozen=True):
    """The available memory bandwidth of these cores.

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
    """The processes of the cgroup are stopped. The message has no keys."""


class MmbwmonRestart(FastMessage, frozen=True):
    """Let the processes of a cgroup continue.

    Args:
        cgroup: its name or path.
    """

    cgroup: str


class MmbwmonRestartAck(FastMessage, frozen=True):
    """The processes of the cgroup continue. The message has no keys."""


class SystemInfo(FastMessage, frozen=True):
    """The data of mmbwmon about a node. It is a file, and has no topic.

    Args:
        threads: the number of hardware threads.
        smt: the number of threads that share a core.
        numa: the number of NUMA nodes.
        bandwidth: the measured bandwidth with one thread, two threads and so on.
    """

    threads: U64
    smt: U64
    numa: U64
    bandwidth: TupleOf[float] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "bandwidth")
