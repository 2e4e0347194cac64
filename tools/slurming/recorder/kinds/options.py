"""The options of sbatch, slurm.conf and scontrol that the drawn kinds choose from, each with values that fit a site.

A row draws the words of one option, or nothing where the site has not what it needs. Options of jobs are of `sbatch`;
`PARTITION`, `NODE`, `CLUSTER` and `SCHEDULER` are of slurm.conf.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import msgspec

__all__ = ["CLUSTER", "JOB", "NODE", "PARTITION", "SCHEDULER", "Row", "Site", "drawn_words"]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that options are drawn for.

    Attributes:
        nodes: the number of nodes; their names are n0, n1...
        cores: the CPUs of the smallest node.
        memory: the memory of the smallest node in MB.
        threads: the threads of a core.
        shared: whether jobs share nodes (select/cons_tres).
        features: the features that nodes have.
        partitions: the names of the partitions; the first one is the default.
        gpus: the types of GPUs; "" is one without a type.
        licenses: the names of licences, each of which there are four of.
        qos: the qualities of service; none without accounting.
        accounts: the accounts; none without accounting.
        tree: whether there is a tree of switches.
    """

    nodes: int
    cores: int
    memory: int
    threads: int = 1
    shared: bool = False
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ("all",)
    gpus: tuple[str, ...] = ()
    licenses: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    tree: bool = False


class Row(NamedTuple):
    """An option.

    Attributes:
        name: its name in the manual.
        words: draws its words; none if they make no sense at a site.
        theme: the subject that it belongs to.
    """

    name: str
    words: Callable[[Random, Site], list[str]]
    theme: str


def some_nodes(draw: Random, site: Site, most: int = 2) -> str:
    """The name of a node, or of two that stand side by side."""
    first, width = draw.randrange(site.nodes), draw.randint(1, most)
    last = min(site.nodes, first + width) - 1
    return f"n{first}" if last == first else f"n[{first}-{last}]"


def _range(draw: Random, site: Site) -> list[str]:
    least = draw.randint(1, max(1, site.nodes // 2))
    return ["-N", f"{least}-{draw.randint(least, site.nodes)}"]


def _constraint(draw: Random, site: Site) -> list[str]:
    if not site.features:
        return []
    one, other = draw.choice(site.features), draw.choice(site.features)
    forms = [one, f"{one}|{other}", f"{one}&{other}", f"[{one}|{other}]"]
    if draw.random() < 0.15 and one != other:
        return ["-N3", "-C", f"[{one}*1&{other}*2]"]
    return ["-C", draw.choice(forms)]


def _gres(draw: Random, site: Site) -> list[str]:
    if not site.gpus:
        return []
    kind = draw.choice(site.gpus)
    typed = f"{kind}:" if kind and draw.random() < 0.6 else ""
    return [f"--gres=gpu:{typed}{draw.choice([1, 1, 2])}"]


def _gpus(option: str, *more: str) -> Callable[[Random, Site], list[str]]:
    def words(draw: Random, site: Site) -> list[str]:
        if not site.gpus:
            return []
        kind = draw.choice(site.gpus)
        typed = f"{kind}:" if kind and draw.random() < 0.4 else ""
        return [*more, f"{option}={typed}{draw.choice([1, 1, 2])}"]

    return words


def _memory(option: str, share: float) -> Callable[[Random, Site], list[str]]:
    return lambda draw, site: (
        [f"{option}={max(1, int(site.memory * share * draw.choice([0.2, 0.4, 0.7, 1.0])))}"] if site.shared else []
    )


def _among(option: str, names: str) -> Callable[[Random, Site], list[str]]:
    def words(draw: Random, site: Site) -> list[str]:
        found: tuple[str, ...] = getattr(site, names)
        return [option, draw.choice(found)] if found else []

    return words


def _partitions(draw: Random, site: Site) -> list[str]:
    count = min(len(site.partitions), draw.choice([1, 1, 1, 2]))
    return ["-p", ",".join(draw.sample(site.partitions, count))] if len(site.partitions) > 1 else []


def _either(*choices: str) -> Callable[[Random, Site], list[str]]:
    return lambda draw, site: draw.choice(choices).split()


def _license(draw: Random, site: Site) -> list[str]:
    names = draw.sample(site.licenses, draw.randint(1, len(site.licenses))) if site.licenses else []
    return ["-L", ",".join(f"{name}:{draw.choice([1, 1, 2, 3])}" for name in names)] if names else []


JOB: tuple[Row, ...] = (
    Row("nodes", _range, "places"),
    Row("nodelist", lambda draw, site: ["-w", some_nodes(draw, site)], "places"),
    Row("exclude", lambda draw, site: ["-x", some_nodes(draw, site)], "places"),
    Row("constraint", _constraint, "places"),
    Row("contiguous", _either("--contiguous"), "places"),
    Row(
        "switches", lambda draw, site: [draw.choice(["--switches=1", "--switches=1@2"])] if site.tree else [], "places"
    ),
    Row("use-min-nodes", lambda draw, site: [*_range(draw, site), "--use-min-nodes"], "places"),
    Row("exclusive", lambda draw, site: [draw.choice(["--exclusive", "--exclusive", "--exclusive=user"])], "cores"),
    Row("ntasks", lambda draw, site: [f"-n{draw.randint(1, 2 * site.cores)}"] if site.shared else [], "cores"),
    Row(
        "ntasks-per-node",
        lambda draw, site: ["-N", str(draw.randint(1, 2)), f"--ntasks-per-node={draw.randint(1, site.cores)}"],
        "cores",
    ),
    Row(
        "cpus-per-task",
        lambda draw, site: (
            [f"-n{draw.randint(1, 3)}", f"-c{draw.randint(2, max(2, site.cores))}"] if site.shared else []
        ),
        "cores",
    ),
    Row("mem", _memory("--mem", 1.0), "cores"),
    Row("mem-per-cpu", _memory("--mem-per-cpu", 0.3), "cores"),
    Row("oversubscribe", _either("--oversubscribe"), "cores"),
    Row("spread-job", _either("--spread-job"), "cores"),
    Row("gres", _gres, "gpus"),
    Row("cpus-per-gpu", _gpus("--gpus", "--cpus-per-gpu=2"), "gpus"),
    Row("mem-per-gpu", _gpus("--gpus", "--mem-per-gpu=1000"), "gpus"),
    Row("gpus", _gpus("--gpus"), "gpus"),
    Row("gpus-per-node", _gpus("--gpus-per-node", "-N1"), "gpus"),
    Row("gpus-per-task", _gpus("--gpus-per-task", "-n2"), "gpus"),
    Row("account", _among("-A", "accounts"), "people"),
    Row("qos", _among("--qos", "qos"), "people"),
    Row("partition", _partitions, "people"),
    Row("nice", lambda draw, site: [f"--nice={draw.choice([5, 50, 300, -20])}"], "people"),
    Row("licenses", _license, "people"),
    Row("begin", lambda draw, site: [f"--begin=now+{draw.randint(20, 120)}"], "times"),
    Row("time-min", _either("--time-min=1"), "times"),
    Row("hold", _either("-H"), "times"),
    Row("job-name", _either("-J x -d singleton", "-J y -d singleton"), "times"),
    Row("requeue", _either("--requeue"), "times"),
    Row("no-requeue", _either("--no-requeue"), "times"),
)
"""Options of sbatch; arrays, dependencies, limits and reservations are drawn with the jobs that they are about."""


PARTITION: tuple[Row, ...] = (
    Row("PriorityTier", lambda draw, site: [str(draw.choice([2, 5, 9]))], "people"),
    Row("Priority", lambda draw, site: [str(draw.choice([3, 6]))], "people"),
    Row("PriorityJobFactor", lambda draw, site: [str(draw.choice([10, 40]))], "people"),
    Row("MaxNodes", lambda draw, site: [str(max(1, site.nodes - 2))], "places"),
    Row("MinNodes", lambda draw, site: ["2"], "places"),
    Row("OverTimeLimit", lambda draw, site: ["1"], "times"),
    Row("GraceTime", lambda draw, site: [draw.choice(["20", "45"])], "preempts"),
    Row("PreemptMode", lambda draw, site: [draw.choice(["OFF", "CANCEL", "REQUEUE"])], "preempts"),
    Row("ReqResv", lambda draw, site: ["YES"], "reserved"),
    Row("RootOnly", lambda draw, site: ["YES"], "people"),
    Row("AllowGroups", lambda draw, site: ["u1,u2"], "people"),
    Row("AllowAccounts", lambda draw, site: [",".join(site.accounts[:2])] if site.accounts else [], "people"),
    Row("DenyAccounts", lambda draw, site: [site.accounts[-1]] if site.accounts else [], "people"),
    Row("AllowQOS", lambda draw, site: [",".join(site.qos[:2])] if site.qos else [], "people"),
    Row("DenyQOS", lambda draw, site: [site.qos[-1]] if site.qos else [], "people"),
    Row("QOS", lambda draw, site: ["part"] if site.qos else [], "people"),
    Row("TRESBillingWeights", lambda draw, site: ["CPU=2.0,Mem=1G"] if site.qos else [], "people"),
    Row("ExclusiveUser", lambda draw, site: ["YES"], "cores"),
    Row("LLN", lambda draw, site: ["YES"] if site.shared else [], "cores"),
    Row("DefMemPerNode", lambda draw, site: [str(site.memory // 2)] if site.shared else [], "cores"),
    Row("DefMemPerCPU", lambda draw, site: [str(site.memory // site.cores // 2)] if site.shared else [], "cores"),
    Row("MaxCPUsPerNode", lambda draw, site: [str(max(1, site.cores - 1))] if site.shared else [], "limits"),
    Row("MaxMemPerNode", lambda draw, site: [str(site.memory // 2)] if site.shared else [], "limits"),
    Row("MaxMemPerCPU", lambda draw, site: [str(site.memory // site.cores // 2)] if site.shared else [], "limits"),
    Row(
        "OverSubscribe",
        lambda draw, site: [draw.choice(["EXCLUSIVE", "NO", "FORCE:2"] if site.shared else ["NO"])],
        "cores",
    ),
    Row("Shared", lambda draw, site: [draw.choice(["NO", "EXCLUSIVE"])], "cores"),
    Row(
        "SelectTypeParameters",
        lambda draw, site: [draw.choice(["CR_Core", "CR_Core_Memory"])] if site.shared and site.threads == 1 else [],
        "cores",
    ),
    Row("DefCpuPerGPU", lambda draw, site: ["2"] if site.gpus else [], "gpus"),
    Row("DefMemPerGPU", lambda draw, site: [str(site.memory // 4)] if site.gpus and site.shared else [], "gpus"),
)
"""Keys of partitions."""

NODE: tuple[Row, ...] = (
    Row("Weight", lambda draw, site: [str(draw.choice([1, 5, 10]))], "places"),
    Row("MemSpecLimit", lambda draw, site: [str(site.memory // 8)] if site.shared else [], "cores"),
    Row("CoreSpecCount", lambda draw, site: ["1"] if site.shared and site.cores > 4 else [], "limits"),
    Row("CpuSpecList", lambda draw, site: ["0"] if site.shared and site.cores > 4 else [], "limits"),
    Row("State", lambda draw, site: ["DRAIN"], "failures"),
)
"""Keys of groups of nodes, besides their CPUs, memory, features and devices."""


CLUSTER: tuple[Row, ...] = (
    Row("PriorityWeightAge", _either("500", "1000", "3000"), "people"),
    Row("PriorityWeightFairshare", _either("1000", "5000"), "people"),
    Row("PriorityWeightJobSize", _either("300", "1500"), "people"),
    Row("PriorityWeightPartition", _either("500", "1500"), "people"),
    Row("PriorityWeightQOS", _either("800"), "people"),
    Row("PriorityWeightAssoc", _either("700"), "people"),
    Row("PriorityWeightTRES", _either("CPU=1000,Mem=2000,Node=500", "CPU=600"), "people"),
    Row("PriorityMaxAge", _either("0-0:20:00", "0-0:5:00"), "people"),
    Row("PriorityDecayHalfLife", _either("0-0:5:0", "0-0:20:0", "1-0", "0"), "people"),
    Row("PriorityUsageResetPeriod", _either("NONE"), "people"),
    Row("PriorityFavorSmall", _either("YES"), "people"),
    Row("FairShareDampeningFactor", _either("2"), "people"),
    Row(
        "PriorityFlags",
        _either(
            "NO_FAIR_TREE", "ACCRUE_ALWAYS", "CALCULATE_RUNNING", "MAX_TRES", "SMALL_RELATIVE_TO_TIME", "INCR_ONLY"
        ),
        "people",
    ),
    Row(
        "PriorityFlags",
        _either("DEPTH_OBLIVIOUS", "NO_NORMAL_ALL", "FAIR_TREE", "NO_NORMAL_PART,NO_NORMAL_QOS"),
        "people",
    ),
    Row("PriorityFlags", _either("NO_NORMAL_ASSOC", "NO_NORMAL_TRES"), "people"),
    Row("PreemptExemptTime", _either("0:0:30"), "preempts"),
    Row("OverTimeLimit", _either("1"), "times"),
    Row("JobRequeue", _either("0"), "failures"),
    Row("ReturnToService", _either("0", "1"), "failures"),
    Row("DependencyParameters", _either("kill_invalid_depend"), "times"),
    Row("EnforcePartLimits", _either("ALL", "ANY"), "people"),
    Row("DefMemPerNode", lambda draw, site: [str(site.memory // 2)] if site.shared else [], "cores"),
    Row("DefMemPerCPU", lambda draw, site: [str(site.memory // site.cores // 2)] if site.shared else [], "cores"),
    Row("MaxMemPerNode", lambda draw, site: [str(site.memory * 3 // 4)] if site.shared else [], "limits"),
    Row("MaxMemPerCPU", lambda draw, site: [str(site.memory // site.cores // 2)] if site.shared else [], "limits"),
    Row("DefCpuPerGPU", lambda draw, site: ["2"] if site.gpus else [], "gpus"),
    Row("DefMemPerGPU", lambda draw, site: [str(site.memory // 4)] if site.gpus and site.shared else [], "gpus"),
    Row("CompleteWait", _either("10", "30"), "limits"),
    Row("TopologyParam", lambda draw, site: ["TopoOptional"] if site.tree else [], "places"),
)
"""Keys of the cluster, besides those of the selection, the accounting and the plugins."""


def _number(name: str, *choices: int, theme: str = "loops") -> Row:
    return Row(name, lambda draw, site: [f"{name}={draw.choice(choices)}"], theme)


def _flag(name: str, theme: str = "loops") -> Row:
    return Row(name, lambda draw, site: [name], theme)


SCHEDULER: tuple[Row, ...] = (
    _number("batch_sched_delay", 0, 1, 10),
    _number("bf_job_part_count_reserve", 1, 2),
    _number("bf_max_job_array_resv", 1, 3),
    _number("bf_max_job_assoc", 2, theme="people"),
    _number("bf_max_job_part", 2, 4),
    _number("bf_max_job_start", 1, 2),
    _number("bf_max_job_test", 3, 8),
    _number("bf_max_job_user", 1, 3),
    _number("bf_max_job_user_part", 1, 2),
    _number("bf_min_age_reserve", 30, 120),
    _number("bf_min_prio_reserve", 2000),
    _number("bf_node_space_size", 4, 10),
    _number("bf_window", 5, 30),
    _number("bf_window_linear", 30),
    _number("default_queue_depth", 2, 5),
    _number("max_array_tasks", 4),
    _number("max_switch_wait", 60, theme="places"),
    _number("partition_job_depth", 1, 3),
    _number("preempt_reorder_count", 2, theme="preempts"),
    _number("sched_interval", 10, 30),
    _number("sched_max_job_start", 1, 2),
    _number("sched_min_interval", 1000000, 5000000),
    _flag("allow_zero_lic", "people"),
    Row("assoc_limit_stop", lambda draw, site: ["assoc_limit_stop"] if site.accounts else [], "people"),
    _flag("bf_licenses", "people"),
    _flag("bf_one_resv_per_job"),
    _flag("bf_running_job_reserve"),
    _flag("defer"),
    _flag("pack_serial_at_end", "cores"),
    _flag("preempt_strict_order", "preempts"),
    _flag("preempt_youngest_first", "preempts"),
    _flag("reduce_completing_frag"),
)
"""Options of SchedulerParameters, besides bf_interval, bf_resolution and bf_continue."""


def drawn_words(draw: Random, site: Site, rows: tuple[Row, ...], themes: frozenset[str], count: int) -> list[list[str]]:
    """The words of a number of options of some themes, each of another name."""
    found: dict[str, list[str]] = {}
    fitting = [row for row in rows if row.theme in themes]
    for row in draw.sample(fitting, len(fitting)):
        if len(found) < count and row.name not in found and (words := row.words(draw, site)):
            found[row.name] = words
    return [[name, *words] for name, words in found.items()]
