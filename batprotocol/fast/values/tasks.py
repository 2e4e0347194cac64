"""The tasks of the migration framework of a node: one class for each task, and the entries of its list.

All have the topic `fast/migfra/<hostname>/task`. A task with a list (start, stop, suspend, resume) is for many virtual
machines, each with options of its own; migrate, evacuate and repin are for one. The framework answers each task with
one result, which has the same `id`.
"""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.fast.values.base import (
    U8,
    U16,
    U32,
    U64,
    CPUMap,
    FastMessage,
    OptionalCPUMap,
    Part,
    nested_tuples_into,
    none_of,
)
from batprotocol.model.value import OptionalTupleOf, TupleOf, tuples_into

__all__ = [
    "VM",
    "EvacuateNode",
    "EvacuateParameter",
    "IVShmem",
    "MigrateParameter",
    "MigrateVM",
    "PCIAddress",
    "PCIId",
    "Quit",
    "RepinVM",
    "ResumeVM",
    "StartVM",
    "StopVM",
    "SuspendVM",
    "SwapWith",
    "Task",
    "TaskOptions",
    "VMConfiguration",
    "VMToStop",
]


class TaskOptions(Part, frozen=True, kw_only=True):
    """The options of every single task; in a task with a list, of each entry.

    Args:
        concurrent_execution: whether it may run beside others; the framework's default is true.
        time_measurement: whether the result has the duration; the default is false.
        driver: the hypervisor, `qemu` (the default) or `lxctools`.
    """

    concurrent_execution: bool | None = None
    time_measurement: bool | None = None
    driver: str | None = None


class IVShmem(Part, frozen=True):
    """Memory that virtual machines share.

    Args:
        id: its name.
        size: its size, in MiB if it is a bare number; a text, as the hypervisor takes it (`512M`).
        path: where it is on the host.
    """

    id: str
    size: str
    path: str | None = None


class PCIId(Part, frozen=True):
    """The kind of a PCI device, as `lspci -nn` shows it: one such device is attached.

    Args:
        vendor: who makes it, in [0, 65535].
        device: which of their kinds it is, in [0, 65535].

    >>> PCIId(0x15B3, 0x1004)
    PCIId(vendor=5555, device=4100)
    """

    vendor: U16
    device: U16


class PCIAddress(Part, frozen=True):
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


class SwapWith(Part, frozen=True):
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


class MigrateParameter(Part, frozen=True, kw_only=True):
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


class EvacuateParameter(Part, frozen=True, kw_only=True):
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
