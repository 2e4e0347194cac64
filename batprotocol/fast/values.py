"""The values of FaST: a class for each message, and for each part of one.

They are immutable, comparable, and made without checks; what the wire cannot carry, writing refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.model.value import OptionalTupleOf, TupleOf, Value, tuples_into

__path__: list[str] = []  # it was a package: its modules are found by their old names

__all__ = [
    "ALLOWED",
    "ANY_PROCESS",
    "COMPLETED",
    "ERROR",
    "KPI",
    "RESUME",
    "SUCCESS",
    "SUSPEND",
    "UNKNOWN",
    "VM",
    "ApplicationKPIs",
    "ApplicationStatus",
    "Configuration",
    "EvacuateNode",
    "EvacuateParameter",
    "FastMessage",
    "IVShmem",
    "Init",
    "InitAgent",
    "JobDescription",
    "KPIConfiguration",
    "MessagePart",
    "MigrateParameter",
    "MigrateVM",
    "MmbwmonRequest",
    "MmbwmonResponse",
    "MmbwmonRestart",
    "MmbwmonRestartAck",
    "MmbwmonStop",
    "MmbwmonStopAck",
    "PCIAddress",
    "PCIId",
    "PscomRequest",
    "PscomResponse",
    "Quit",
    "RepinVM",
    "Result",
    "ResumeVM",
    "StartVM",
    "StopMonitoring",
    "StopVM",
    "SuspendVM",
    "SwapWith",
    "SystemInfo",
    "Task",
    "TaskOptions",
    "VMConfiguration",
    "VMResult",
    "VMToStop",
]


# What all values share: the names of their fields on the wire, and their numbers


U8: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**8 - 1)]
U16: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
U64: TypeAlias = Annotated[int, msgspec.Meta(ge=0, extra={"le": 2**64 - 1})]  # msgspec has no bounds beyond int64

# For each virtual CPU (or NUMA node), from 0 on, the CPUs (or nodes) of the host that it may run on. To type checkers
# they are descriptors, as those of `model.fields` are: a constructor takes more than the field holds.

if TYPE_CHECKING:
    _Map: TypeAlias = tuple[tuple[int, ...], ...]

    class CPUMap:
        """A tuple of number tuples, made of any iterable of iterables."""

        def __get__(self, instance: object, owner: Any) -> _Map: ...
        def __set__(self, instance: object, value: Iterable[Iterable[int]]) -> None: ...

    class OptionalCPUMap:
        """The same, or None."""

        def __get__(self, instance: object, owner: Any) -> _Map | None: ...
        def __set__(self, instance: object, value: Iterable[Iterable[int]] | None) -> None: ...

else:
    CPUMap = tuple[tuple[U32, ...], ...]
    OptionalCPUMap = CPUMap | None

_WORDS = {"retry_counter": "retry_counter", "kpi": "KPI", "kpis": "KPIS", "supported_kpi": "supported_KPI"}
"""The keys that are not their field's name with `-` for `_`."""

_set = msgspec.structs.force_setattr


def on_wire(field: str) -> str:
    """The key of a field in fast-lib.

    >>> on_wire("vm_name"), on_wire("retry_counter"), on_wire("kpi")
    ('vm-name', 'retry_counter', 'KPI')
    """
    return _WORDS.get(field, field.replace("_", "-"))


class MessagePart(Value, frozen=True, tag=False, rename=on_wire, forbid_unknown_fields=True):
    """A part of a message: an entry of a list, or the value of a key."""


class FastMessage(Value, frozen=True, tag=True, tag_field="message", rename=on_wire, forbid_unknown_fields=True):
    """A message: the content of one payload."""


def none_of(value: Value, name: str, nothing: Any) -> None:
    """Replace an empty value of a field by None: to the programs, both are the same."""
    if getattr(value, name) == nothing:
        _set(value, name, None)


def nested_tuples_into(value: Value, *names: str) -> None:
    """Replace the nested lists in these fields by nested tuples."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, tuple(row if isinstance(row, str) else tuple(row) for row in given))
            except TypeError:
                continue


# Tasks of a migration framework, each with the entries of its list


class TaskOptions(MessagePart, frozen=True, kw_only=True):
    """The options of every single task; in a task with a list, of each entry.

    Args:
        concurrent_execution: whether it may run beside others; the framework's default is true.
        time_measurement: whether the result has the duration; the default is false.
        driver: the hypervisor, `qemu` (the default) or `lxctools`.
    """

    concurrent_execution: bool | None = None
    time_measurement: bool | None = None
    driver: str | None = None


class IVShmem(MessagePart, frozen=True):
    """Memory that virtual machines share.

    Args:
        id: its name.
        size: its size, in MiB if it is a bare number; a text, as the hypervisor takes it (`512M`).
        path: where it is on the host.
    """

    id: str
    size: str
    path: str | None = None


class PCIId(MessagePart, frozen=True):
    """The kind of a PCI device, as `lspci -nn` shows it: one such device is attached.

    Args:
        vendor: who makes it, in [0, 65535].
        device: which of their kinds it is, in [0, 65535].

    >>> PCIId(0x15B3, 0x1004)
    PCIId(vendor=5555, device=4100)
    """

    vendor: U16
    device: U16


class PCIAddress(MessagePart, frozen=True):
    """One PCI device by its address, `domain:bus:device.funct`.

    Args:
        bus: its bus, in [0, 255].
        device: its number there, in [0, 255].
        funct: which function of it, in [0, 255].
        domain: the domain of the bus, in [0, 65535].
    """

    bus: U8
    device: U8
    funct: U8
    domain: U16 = 0

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.funct:x}"


class VMConfiguration(TaskOptions, frozen=True):
    """A virtual machine to be started: one that the host knows, by its name, or a new one, by its XML.

    Args:
        vm_name: the name of a machine that is defined already.
        vcpus: how many virtual CPUs it gets.
        memory: its memory, in KiB.
        memnode_map: for each of its NUMA nodes, the nodes of the host.
        xml: libvirt's definition of a new machine.
        ivshmem: memory that it shares with others.
        transient: whether the machine is forgotten when it has stopped; needs `xml`.
        pci_ids: the kinds of PCI devices that it gets. None at all is None.
        pci_addrs: the PCI devices that it gets. None at all is None.
        vcpu_map: for each virtual CPU, the CPUs of the host.
        probe_with_ssh: whether it counts as started only when it can be reached with ssh; the default is true.
        probe_hostname: the name under which it is reached.
    """

    vm_name: str | None = None
    vcpus: U32 | None = None
    memory: U64 | None = None
    memnode_map: OptionalCPUMap = None  # type: ignore[assignment]  # a descriptor
    xml: str | None = None
    ivshmem: IVShmem | None = None
    transient: bool | None = None
    pci_ids: OptionalTupleOf[PCIId] = None  # type: ignore[assignment]  # a descriptor
    pci_addrs: OptionalTupleOf[PCIAddress] = None  # type: ignore[assignment]  # a descriptor
    vcpu_map: OptionalCPUMap = None  # type: ignore[assignment]  # a descriptor
    probe_with_ssh: bool | None = None
    probe_hostname: str | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "pci_ids", "pci_addrs")
        nested_tuples_into(self, "memnode_map", "vcpu_map")
        none_of(self, "pci_ids", ())
        none_of(self, "pci_addrs", ())


class VMToStop(TaskOptions, frozen=True):
    """Machines to be stopped: the one of a name, or all whose names a regular expression matches.

    Args:
        vm_name: the name of the machine.
        regex: a regular expression, `.*` for all.
        force: whether it is switched off rather than shut down; the default is false.
        undefine: whether the host forgets it; the default is false.
    """

    vm_name: str | None = None
    regex: str | None = None
    force: bool | None = None
    undefine: bool | None = None


class VM(TaskOptions, frozen=True):
    """A machine to be suspended or resumed."""

    vm_name: str


class SwapWith(MessagePart, frozen=True):
    """The machine that comes back in place of the one that is migrated; it runs on the destination.

    Args:
        vm_name: its name.
        pscom_hook_procs: how many processes in it must close their connections first, or `auto`.
        vcpu_map: for each of its virtual CPUs, the CPUs of the host that it comes to.
    """

    vm_name: str
    pscom_hook_procs: str | None = None
    vcpu_map: OptionalCPUMap = None  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        nested_tuples_into(self, "vcpu_map")


class MigrateParameter(MessagePart, frozen=True, kw_only=True):
    """How a machine is migrated.

    Args:
        retry_counter: how often it is tried again; the framework reads and ignores it.
        migration_type: `live`, `warm` (the default) or `offline`. Any other value counts as `warm`.
        rdma_migration: whether its memory goes over RDMA.
        pscom_hook_procs: how many processes in it must close their connections first, or `auto`.
        transport: how the hosts are reached, `ssh` (the default) or `tcp`.
        swap_with: the machine that comes back in its place.
        vcpu_map: for each of its virtual CPUs, the CPUs of the destination.
    """

    retry_counter: U32 | None = None
    migration_type: str | None = None
    rdma_migration: bool | None = None
    pscom_hook_procs: str | None = None
    transport: str | None = None
    swap_with: SwapWith | None = None
    vcpu_map: OptionalCPUMap = None  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        nested_tuples_into(self, "vcpu_map")


class EvacuateParameter(MessagePart, frozen=True, kw_only=True):
    """How a node is evacuated.

    Args:
        mode: how the machines are spread: `auto` (the default), `compact` or `scatter`.
        overbooking: whether a destination may get more than it has CPUs; the default is true.
        retry_counter: how often a migration is tried again.
        migration_type: `live`, `warm` (the default) or `offline`.
        rdma_migration: whether memory goes over RDMA.
        pscom_hook_procs: how many processes in each machine must close their connections first, or `auto`.
        transport: how the hosts are reached, `ssh` (the default) or `tcp`.
    """

    mode: str | None = None
    overbooking: bool | None = None
    retry_counter: U32 | None = None
    migration_type: str | None = None
    rdma_migration: bool | None = None
    pscom_hook_procs: str | None = None
    transport: str | None = None


# The messages


class ListTask(FastMessage, frozen=True, kw_only=True):
    """The options of tasks for many machines, beside their list; `StartVM` documents them."""

    concurrent_execution: bool | None = None
    id: str | None = None
    host: str | None = None


class SingleTask(FastMessage, frozen=True, kw_only=True):
    """The options of tasks for one machine or node, beside its name; `MigrateVM` documents them."""

    concurrent_execution: bool | None = None
    time_measurement: bool | None = None
    driver: str | None = None
    id: str | None = None
    host: str | None = None


class StartVM(ListTask, frozen=True):
    """`start vm`: start these machines, and wait until they can be reached.

    Args:
        vm_configurations: the machines.
        concurrent_execution: whether the entries run beside each other; the default is true.
        id: comes back with the result.
        host: the name of the node, in the specification; no program reads it.
    """

    vm_configurations: TupleOf[VMConfiguration] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "vm_configurations")


class StopVM(ListTask, frozen=True):
    """`stop vm`: stop these machines. The other arguments are those of `StartVM`.

    Args:
        list: the machines, by their names or by a regular expression.
    """

    list: TupleOf[VMToStop] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "list")


class SuspendVM(ListTask, frozen=True):
    """`suspend vm`: let these machines have no CPU time. The other arguments are those of `StartVM`.

    Args:
        list: the machines.
    """

    list: TupleOf[VM] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "list")


class ResumeVM(ListTask, frozen=True):
    """`resume vm`: let these machines go on. The other arguments are those of `StartVM`.

    Args:
        list: the machines.
    """

    list: TupleOf[VM] = ()  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "list")


class MigrateVM(SingleTask, frozen=True):
    """`migrate vm`: bring this machine to another node.

    Args:
        vm_name: the machine.
        destination: the node that it comes to.
        parameter: how. One that says nothing is None.
        concurrent_execution: whether it may run beside others; the default is true.
        time_measurement: whether the result has the durations of its phases; the default is false.
        driver: the hypervisor.
        id: comes back with the result.
        host: the name of the node, in the specification; no program reads it.
    """

    vm_name: str
    destination: str
    parameter: MigrateParameter | None = None

    def __post_init__(self) -> None:
        none_of(self, "parameter", _NO_MIGRATE_PARAMETER)


class EvacuateNode(SingleTask, frozen=True):
    """`evacuate node`: bring all machines of the node to others. The other arguments are those of `MigrateVM`.

    Args:
        destinations: the nodes that they come to.
        vm_name: the framework's own; a scheduler leaves it out.
    """

    destinations: TupleOf[str] = ()  # type: ignore[assignment]  # a descriptor
    vm_name: str | None = None
    parameter: EvacuateParameter | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "destinations")
        none_of(self, "parameter", _NO_EVACUATE_PARAMETER)


class RepinVM(SingleTask, frozen=True):
    """`repin vm`: let the virtual CPUs of this machine run on these CPUs. The other arguments are those of `MigrateVM`.

    Args:
        vcpu_map: for each virtual CPU, the CPUs of the host.
    """

    vm_name: str
    vcpu_map: CPUMap

    def __post_init__(self) -> None:
        nested_tuples_into(self, "vcpu_map")


class Quit(ListTask, frozen=True):
    """`quit`: the framework answers, waits for its current tasks, and ends.

    Args:
        list: its options, as the only entry: fast-lib writes them here, and reads them from beside the list.
        concurrent_execution: as in `StartVM`.
        id: comes back with the result.
        host: the name of the node; no program reads it.
    """

    list: TupleOf[TaskOptions] = (TaskOptions(),)  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "list")


Task: TypeAlias = StartVM | StopVM | SuspendVM | ResumeVM | MigrateVM | EvacuateNode | RepinVM | Quit
"""Any of them."""

_NO_MIGRATE_PARAMETER = MigrateParameter()
_NO_EVACUATE_PARAMETER = EvacuateParameter()


# Results of a migration framework, on `fast/migfra/<hostname>/result`


SUCCESS = "success"
"""The `status` of a machine with which the task succeeded."""
ERROR = "error"
"""The `status` of a machine with which the task failed."""
UNKNOWN = "unknown"
"""The `result` of a payload that is not a task, and the name of the machine in it."""


class VMResult(MessagePart, frozen=True):
    """The result of one machine.

    Args:
        vm_name: the machine; for a task with a regular expression, that expression.
        status: `success` or `error`. Any text can be read.
        details: the reason of an error. The empty text is None.
        time_measurement: durations, in seconds with six decimals, by their tags (`overall`, `migrate`); a text if a
            duration has another form.
        process_id: the process of the machine, in the specification; no program writes or reads it.
    """

    vm_name: str
    status: str = SUCCESS
    details: str | None = None
    time_measurement: Mapping[str, float | str] | None = None
    process_id: str | None = None

    def __post_init__(self) -> None:
        none_of(self, "details", "")

    @property
    def is_success(self) -> bool:
        """Whether the task succeeded with this machine."""
        return self.status == SUCCESS


class Result(FastMessage, frozen=True):
    """The result of a task.

    Args:
        result: the completed task: `vm started`, `vm stopped`, `vm suspended`, `vm resumed`, `vm repinned`,
            `vm migrated`, `node evacuated`, `quit`; or `unknown` for a payload that is not a task. Any text is read.
        list: the result of each machine, in the order of the task. `vm migrated` has one entry, in the message itself.
        id: the `id` of the task. The empty text is None.
        scheduler: the receiver, in the specification: a host name or `global`; no program writes or reads it.

    >>> Result("vm stopped", [VMResult("vm1")], id="7").is_success
    True
    """

    result: str
    list: TupleOf[VMResult] = ()  # type: ignore[assignment]  # a descriptor
    id: str | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "list")
        none_of(self, "id", "")

    @property
    def is_success(self) -> bool:
        """Whether the task succeeded with every machine."""
        return all(entry.status == SUCCESS for entry in self.list) and self.result != UNKNOWN


# Agents: their start, the performance indicators (KPIs), and mmbwmon, which measures memory bandwidth


class Init(FastMessage, frozen=True):
    """`init`: the agent of a node has started.

    Args:
        hostname: the node. The specification calls it `source`.
    """

    hostname: str


class KPIConfiguration(MessagePart, frozen=True):
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


class JobDescription(MessagePart, frozen=True):
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


# pscom, the layer below MPI, and applications


SUSPEND: Final = "suspend"
"""The `task` of a `PscomRequest` before a migration."""
RESUME: Final = "resume"
"""The `task` of a `PscomRequest` after a migration."""
ALLOWED: Final = "ALLOWED"
"""The `state` of a `PscomResponse` to a suspension."""
COMPLETED: Final = "COMPLETED"
"""The `state` of a `PscomResponse` when all connections are open again."""
ANY_PROCESS: Final = "any_proc"
"""The name of the process in the topic of a request to all processes of a machine."""


class PscomRequest(FastMessage, frozen=True):
    """Close your connections, or open them again: before and after a migration.

    Args:
        task: `suspend` or `resume`; pscom also takes `*`, the empty text or a list of processes.
    """

    task: str


class PscomResponse(FastMessage, frozen=True):
    """A process has closed or opened its connections. Any text counts as an answer.

    Args:
        state: `ALLOWED` or `COMPLETED`.
        process: the number of the process, None if the message has none.
    """

    state: str
    process: int | None = None


class ApplicationStatus(FastMessage, frozen=True):
    """`status`: the migration and the indicators that an application supports. It is in the specification only.

    Args:
        source: the application, as Slurm's job id.
        migration: whether it can be migrated; the default is true.
        supported_kpi: the indicators that it will report.
    """

    source: str
    migration: bool | None = None
    supported_kpi: OptionalTupleOf[str] = None  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "supported_kpi")


class ApplicationKPIs(FastMessage, frozen=True):
    """`KPIs`: the progress of an application. It is in the specification only.

    Args:
        source: the application, as Slurm's job id.
        supported_kpi: the indicators and their values.
    """

    source: str
    supported_kpi: Mapping[str, str]


__getattr__ = old_names(__name__, {"Part": "MessagePart"})
