"""Kinds of plans that draw from the whole manual: clusters, options and commands in mixtures that nobody chose.

Each kind has a subject, and takes the options of some themes of `options`; `drawn_site` takes all.
`slurming.recorder.drawn` counts the options of plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from msgspec.structs import replace

from slurming.recorder.kinds.accounts import QOS_LIMITS, USER_LIMITS, factors, tree
from slurming.recorder.kinds.options import CLUSTER, JOB, NODE, PARTITION, SCHEDULER, Row, Site, drawn_words, some_nodes
from slurming.recorder.kinds.parts import BACKFILL, LINEAR, base
from slurming.recorder.kinds.shared import SIZES
from slurming.recorder.plans import Asked, Given, Nodes, Plan
from slurming.recorder.workloads import Shape, jobs, sized

__all__ = ["DRAWN"]

FEATURES = ("Feature=a,fast", "Feature=b,fast", "Features=b,slow", "")
SOCKETS = ("Sockets=1 CoresPerSocket=4 ThreadsPerCore=2", "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2")
CARDS = ("gpu:2", "gpu:v100:2", "gpu:a100:2,gpu:v100:2")
THEMES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "drawn_whole": "places times loops",
        "drawn_cores": "cores places times",
        "drawn_gpus": "gpus cores",
        "drawn_people": "people loops",
        "drawn_preempts": "preempts people",
        "drawn_commands": "times people",
        "drawn_reservations": "reserved places people",
        "drawn_failures": "failures times",
        "drawn_limits": "limits cores",
        "drawn_site": "places cores gpus people times loops preempts",
    }.items()
}
"""The themes of options that each kind draws from."""


def _drawn(draw: Random, rows: tuple[Row, ...], site: Site, kind: str, most: int) -> list[list[str]]:
    return drawn_words(draw, site, rows, THEMES[kind], draw.randint(0, most))


def _keys(found: Iterable[list[str]]) -> str:
    return " ".join(f"{name}={value}" for name, value in found)


def _groups(draw: Random, site: Site, kind: str) -> list[Nodes]:
    """Groups of nodes: their CPUs, memory, features, devices, and some drawn keys."""
    count = 1 if site.nodes < 5 else 2
    sizes = [site.nodes // count] * count
    sizes[0] += site.nodes - sum(sizes)
    groups = []
    for number, size in enumerate(sizes):
        words = [f"{draw.choice(['CPUs', 'CPUs', 'Procs'])}={site.cores * site.threads}"]
        if site.threads > 1:
            words.append(draw.choice(SOCKETS).replace("Sockets", draw.choice(["Sockets", "SocketsPerBoard"]), 1))
        if site.shared:
            words.append(f"RealMemory={site.memory * (1 + number)}")
        if site.features:
            words.append(FEATURES[number] if draw.random() < 0.7 else draw.choice(["Feature=a,slow", FEATURES[2]]))
        if site.gpus and (number == 0 or draw.random() < 0.5):
            words.append(f"Gres={_card(site) if number == 0 else CARDS[1] if site.gpus != ('',) else CARDS[0]}")
        words.append(_keys(_drawn(draw, NODE, site, kind, 2)))
        groups.append(Nodes(size, " ".join(filter(None, words))))
    return groups


def _card(site: Site) -> str:
    return CARDS[0] if site.gpus == ("",) else CARDS[2] if len(site.gpus) > 1 else CARDS[1]


def _gres(groups: list[Nodes]) -> str:
    """gres.conf: the files of the devices of each group."""
    lines, first = [], 0
    for group in groups:
        pattern = f"n[{first}-{first + group.count - 1}]"
        at = 0
        for word in group.conf.split():
            for each in word[5:].split(",") if word.startswith("Gres=") else ():
                name, *kind, number = each.split(":")
                typed = f" Type={kind[0]}" if kind else ""
                lines.append(f"NodeName={pattern} Name={name}{typed} File=/dev/gpu[{at}-{at + int(number) - 1}]")
                at += int(number)
        first += group.count
    return "\n".join(lines)


def _lines(draw: Random, site: Site, kind: str) -> list[str]:
    """The lines of partitions: the first one has all nodes, and the others some, and drawn keys."""
    made = []
    for number, name in enumerate(site.partitions):
        if number == 0:
            nodes, usual = "ALL", "Default=YES MaxTime=INFINITE DefaultTime=10"
        else:
            first = draw.randint(0, site.nodes // 2)
            nodes, usual = f"n[{first}-{draw.randint(first + 1, site.nodes - 1)}]", "MaxTime=20 DefaultTime=5"
        found = _drawn(draw, PARTITION, site, kind, 2 if number else 1)
        if number == 0:  # jobs that name no partition must be able to start
            found = [each for each in found if each[0] not in ("ReqResv", "RootOnly", "AllowGroups", "Alternate")]
        if site.shared and not any(name.startswith("DefMem") for name, _ in found):
            found.append(["DefMemPerCPU", str(site.memory // site.cores // site.threads // 2)])
        made.append(f"PartitionName={name} Nodes={nodes} {usual} {_keys(found)}".strip() + " State=UP")
    return made


def _switches(draw: Random, nodes: int) -> str:
    """A tree of two or three levels."""
    width = draw.choice([2, 3, 4])
    leaves = [f"n[{first}-{min(nodes, first + width) - 1}]" for first in range(0, nodes, width)]
    lines = [f"SwitchName=s{number} Nodes={pattern}" for number, pattern in enumerate(leaves)]
    if len(leaves) > 3 and draw.random() < 0.5:
        middle = len(leaves) // 2
        lines += [f"SwitchName=t0 Switches=s[0-{middle - 1}]", f"SwitchName=t1 Switches=s[{middle}-{len(leaves) - 1}]"]
        return "\n".join([*lines, "SwitchName=root Switches=t[0-1]", ""])
    return "\n".join([*lines, f"SwitchName=root Switches=s[0-{len(leaves) - 1}]", ""])


def _shape(site: Site) -> Shape:
    """Jobs of whole nodes, or of tasks."""
    if not site.shared:
        return sized(max(2, site.nodes * 2 // 3))
    total = site.nodes * site.cores * site.threads

    def draw_one(draw: Random) -> tuple[float, list[str]]:
        if draw.random() < 0.3:
            count, tasks = draw.randint(1, max(1, site.nodes // 2)), draw.choice([1, 2, 3])
            return count * tasks / total, ["-N", str(count), f"--ntasks-per-node={tasks}"]
        words, cores = draw.choice(SIZES[:-1])
        return cores / total, words.split()

    return draw_one


def _asked(draw: Random, site: Site, kind: str, shape: Shape) -> list[Asked]:
    """Jobs with drawn options; a few are arrays, or wait for others."""
    made: list[Asked] = []
    for number, job in enumerate(jobs(draw, shape, count=(28, 40), until=150, busy=(200, 320))):
        words = drawn_words(draw, site, JOB, THEMES[kind], draw.choice([0, 0, 1, 1, 2]))
        given = [word for _, *more in words for word in more]
        sized_anew = any(word.startswith(("-n", "-N", "--gpus")) for word in given)
        args = [*(job.args[-2:] if sized_anew else job.args), *given]
        runs = job.runs
        if draw.random() < 0.08 and "singleton" not in args:
            count = draw.randint(2, 5)
            bound = draw.choice(["", "%1", "%2"])
            args, runs = [*args, f"--array=0-{count - 1}{bound}"], [draw.randint(5, 60) for _ in range(count)]
        elif number and draw.random() < 0.1 and "-d" not in args:
            before = draw.choice(["afterok", "afterany", "afternotok", "after"])
            args += ["-d", f"{before}:{{{draw.randrange(number)}}}"]
        made.append(Asked(job.at, runs, job.user, args, job.exit))
    return made


def _releases(draw: Random, asked: list[Asked]) -> list[Given]:
    return [
        Given(job.at + draw.randint(10, 90), ["scontrol", "release", f"{{{number}}}"])
        for number, job in enumerate(asked)
        if "-H" in job.args
    ]


JOB_UPDATES: tuple[tuple[str, Callable[[Random, Site], str]], ...] = (
    ("Account", lambda draw, site: draw.choice(site.accounts) if site.accounts else ""),
    ("ArrayTaskThrottle", lambda draw, site: draw.choice(["0", "1", "3"])),
    ("Contiguous", lambda draw, site: "yes"),
    ("Dependency", lambda draw, site: "afterany:{0}"),
    ("EligibleTime", lambda draw, site: f"now+{draw.randint(10, 60)}"),
    ("ExcNodeList", some_nodes),
    ("Nice", lambda draw, site: draw.choice(["-20", "50", "400"])),
    ("NodeList", partial(some_nodes, most=1)),
    ("NumNodes", lambda draw, site: draw.choice(["1", "2", "1-3"])),
    ("Partition", lambda draw, site: draw.choice(site.partitions)),
    ("Priority", lambda draw, site: draw.choice(["0", "5", "4294901760"])),
    ("QOS", lambda draw, site: draw.choice(site.qos) if site.qos else ""),
    ("ReqNodeList", partial(some_nodes, most=1)),
    ("ReqNodes", lambda draw, site: draw.choice(["1", "2"])),
    ("Requeue", lambda draw, site: draw.choice(["0", "1"])),
    ("StartTime", lambda draw, site: draw.choice(["now", "now+45"])),
    ("TimeLimit", lambda draw, site: draw.choice(["1", "5", "+2", "-1"])),
    ("TimeMin", lambda draw, site: "1"),
)
PARTITION_UPDATES: tuple[tuple[str, Callable[[Random, Site], str]], ...] = (
    ("State", lambda draw, site: draw.choice(["DOWN", "INACTIVE", "DRAIN", "UP"])),
    ("PriorityTier", lambda draw, site: draw.choice(["1", "8"])),
    ("MaxTime", lambda draw, site: draw.choice(["3", "UNLIMITED"])),
    ("MaxNodes", lambda draw, site: "2"),
    ("MinNodes", lambda draw, site: "1"),
    ("Nodes", lambda draw, site: f"n[0-{site.nodes - 2}]"),
    ("DefaultTime", lambda draw, site: "2"),
    ("DefMemPerCPU", lambda draw, site: str(site.memory // site.cores // 4) if site.shared else ""),
    ("DefMemPerNode", lambda draw, site: str(site.memory // 4) if site.shared else ""),
    ("OverTimeLimit", lambda draw, site: "1"),
    ("Default", lambda draw, site: "YES"),
    ("GraceTime", lambda draw, site: "10"),
    ("PreemptMode", lambda draw, site: "OFF"),
    ("LLN", lambda draw, site: "YES" if site.shared else ""),
    ("AllowAccounts", lambda draw, site: ",".join(site.accounts[:2])),
    ("DenyAccounts", lambda draw, site: ",".join(site.accounts[-1:])),
    ("AllowQOS", lambda draw, site: ",".join(site.qos[:2])),
    ("DenyQOS", lambda draw, site: ",".join(site.qos[-1:])),
    ("QOS", lambda draw, site: "part" if site.qos else ""),
    ("AllowGroups", lambda draw, site: "u1,u2"),
    ("RootOnly", lambda draw, site: draw.choice(["YES", "NO"])),
    ("ReqResv", lambda draw, site: draw.choice(["YES", "NO"])),
)
LIMIT_UPDATES: tuple[tuple[str, Callable[[Random, Site], str]], ...] = (
    ("MaxMemPerCPU", lambda draw, site: str(site.memory // site.cores // draw.choice([2, 4]))),
    ("MaxMemPerNode", lambda draw, site: str(site.memory // draw.choice([2, 3]))),
)
CANCELS = (
    *("-u u2", "--user=u3 -t PENDING", "-p {partition} -u u1", "--state=RUNNING -u u4", "-w {node}", "-A {account}"),
    *("--qos={qos}", "-s KILL {job}", "{job}", "{job}", "-R r1", "--account={account} --partition={partition}"),
    *("--signal=KILL {job}", "--nodelist={node} -t RUNNING", "--reservation=r1"),
)


def _commands(draw: Random, site: Site, asked: list[Asked], count: int) -> list[Given]:
    """Commands of operators about jobs, partitions and nodes."""
    made = []
    for _ in range(count):
        number = draw.randrange(len(asked))
        at = round(asked[number].at + draw.uniform(1, 50), 1)
        name, roll = f"{{{number}}}", draw.random()
        if roll < 0.5:
            key, value = draw.choice(JOB_UPDATES)
            if (text := value(draw, site)) and not (text == "afterany:{0}" and number == 0):
                made.append(Given(at, ["scontrol", "update", f"JobId={name}", f"{key}={text}"]))
        elif roll < 0.65:
            verb = draw.choice(["hold", "uhold", "release", "requeue", "requeuehold", "top"])
            made.append(Given(at, ["scontrol", verb, name]))
            if "hold" in verb:
                made.append(Given(round(at + draw.randint(15, 90), 1), ["scontrol", "release", name]))
        elif roll < 0.8:
            key, value = draw.choice(PARTITION_UPDATES)
            place = draw.choice(site.partitions)
            if text := value(draw, site):
                made.append(Given(at, ["scontrol", "update", f"PartitionName={place}", f"{key}={text}"]))
            if key == "State" or text == "YES":
                back = f"{key}={'UP' if key == 'State' else 'NO'}"
                made.append(
                    Given(round(at + draw.randint(20, 70), 1), ["scontrol", "update", f"PartitionName={place}", back])
                )
        elif roll < 0.93:
            words = draw.choice(CANCELS)
            names = {"partition": site.partitions[-1], "node": some_nodes(draw, site, 1), "job": name}
            names |= {"account": site.accounts[0] if site.accounts else "", "qos": site.qos[-1] if site.qos else ""}
            text = words.format(**names)
            if not text.endswith("=") and not text.endswith("-A "):
                made.append(Given(at, ["scancel", *text.split()]))
        else:
            made += _failure(draw, site, at)
    return made


def _failure(draw: Random, site: Site, at: float) -> list[Given]:
    words = ["scontrol", "update", f"NodeName={some_nodes(draw, site)}"]
    back = round(at + draw.randint(20, 100), 1)
    return [
        Given(at, [*words, f"State={draw.choice(['down', 'drain', 'fail'])}", "Reason=test"]),
        Given(back, [*words, f"State={draw.choice(['resume', 'idle', 'undrain'])}"]),
    ]


def _changes(draw: Random, site: Site, asked: list[Asked], count: int) -> list[Given]:
    """Changes of the limits of partitions."""
    made = []
    for _ in range(count):
        key, value = draw.choice(LIMIT_UPDATES)
        at = round(asked[draw.randrange(len(asked))].at + draw.uniform(1, 50), 1)
        words = ["scontrol", "update", f"PartitionName={draw.choice(site.partitions)}"]
        made.append(Given(at, [*words, f"{key}={value(draw, site)}"]))
    return made


def _magnetic(draw: Random, site: Site) -> list[Given]:
    """A reservation that attracts the jobs of its users."""
    start, users = draw.choice([0, 60, 120]), draw.choice(["u1", "u1,u2"])
    words = ["ReservationName=m", f"StartTime=now+{start}", f"Duration={draw.randint(2, 4)}", f"Users={users}"]
    nodes = f"Nodes={some_nodes(draw, site, 3)}"
    return [Given(1.0, ["scontrol", "create", "reservation", *words, nodes, "Flags=MAGNETIC"])]


FLAGS = ("FLEX", "IGNORE_JOBS", "MAINT", "OVERLAP", "SPEC_NODES", "ANY_NODES", "STATIC_ALLOC")


def _reservations(draw: Random, site: Site, asked: list[Asked]) -> tuple[list[Given], list[Asked]]:
    """One or two reservations, of which the first one is used by jobs of its users, and commands about them."""
    made, create = [], ["scontrol", "create", "reservation"]
    users = draw.choice(["u1", "u1,u2", "u3,u4"])
    for number in range(draw.choice([1, 1, 2])):
        owners = f"Users={users}"
        if site.accounts and draw.random() < 0.3:
            owners = f"Accounts={site.accounts[0]}"
        places = draw.choice(
            [
                [f"Nodes={some_nodes(draw, site, 3)}"],
                [f"NodeCnt={draw.randint(1, max(1, site.nodes // 2))}"],
                [f"NodeCnt={draw.randint(1, 2)}", f"PartitionName={site.partitions[-1]}"],
            ]
        )
        flags = draw.sample(FLAGS, draw.choice([0, 1, 1, 2]))
        if site.licenses and draw.random() < 0.25:
            places, flags = [f"Licenses={site.licenses[0]}:2"], ["LICENSE_ONLY"]
        start = draw.choice([0, 40, 100, 180])
        when = draw.choice([f"Duration={draw.randint(2, 4)}", f"EndTime=now+{start + draw.randint(90, 240)}"])
        words = [f"ReservationName=r{number + 1}", f"StartTime=now+{start}", when, owners, *places]
        made.append(Given(1.0 + 20 * number, [*create, *words, *([f"Flags={','.join(flags)}"] if flags else [])]))
    if draw.random() < 0.4:
        update = ["scontrol", "update", draw.choice(["ReservationName=r1", "Reservation=r1"])]
        change = draw.choice(["Duration=5", "Users=u1,u2,u3", f"Nodes={some_nodes(draw, site)}", "EndTime=now+200"])
        made.append(Given(draw.randint(40, 160), [*update, change]))
    if draw.random() < 0.3:
        made.append(Given(draw.randint(160, 260), ["scontrol", "delete", "ReservationName=r1"]))
    found = []
    for job in asked:
        if job.user in users.split(",") and job.at > 3 and draw.random() < 0.35:
            job = replace(job, args=[*job.args, "--reservation=r1"])
        found.append(job)
    moved = draw.randrange(len(found))
    if draw.random() < 0.4:
        at = max(found[moved].at + 5, 30)
        made.append(Given(at, ["scontrol", "update", f"JobId={{{moved}}}", "ReservationName=r1"]))
    return made, found


def _setup(draw: Random, limits: int) -> list[list[str]]:
    made = [*tree(draw), ["add", "qos", "part"]]
    names = {name: draw.choice(["", "2", "0.5"]) for name in ("high", "low")}
    made += [["modify", "qos", name, "set", f"UsageFactor={each}"] for name, each in names.items() if each]
    for _ in range(limits):
        if draw.random() < 0.7:
            made.append(
                ["modify", "qos", draw.choice(["high", "low", "part", "normal"]), "set", draw.choice(QOS_LIMITS)]
            )
        else:
            place = draw.choice([["user", "u1"], ["user", "u3"], ["account", "a1"], ["account", "a2"]])
            made.append(["modify", *place, "set", draw.choice(USER_LIMITS)])
    if draw.random() < 0.3:
        made.append(["modify", "user", "u1", "set", "priority=40"])
        made.append(["modify", "account", "a2", "set", "priority=10"])
    return made


def _preempts(draw: Random, by_qos: bool, setup: list[list[str]]) -> dict[str, str]:
    mode = draw.choice(["REQUEUE", "CANCEL"])
    if not by_qos:
        return {"PreemptType": "preempt/partition_prio", "PreemptMode": mode}
    setup.append(["modify", "qos", "high", "set", draw.choice(["preempt=low", "preempt=low,normal"])])
    setup.append(
        ["modify", "qos", "low", "set", draw.choice(["GraceTime=20", "PreemptMode=cancel", "PreemptMode=requeue"])]
    )
    return {"PreemptType": "preempt/qos", "PreemptMode": mode}


def _site(draw: Random, kind: str) -> Site:
    themes = THEMES[kind]
    shared = bool(themes & {"cores", "gpus"}) or (kind in ("drawn_people", "drawn_commands") and draw.random() < 0.4)
    threads = 2 if shared and "gpus" not in themes and draw.random() < 0.25 else 1
    accounted = kind in ("drawn_people", "drawn_site") or (
        kind != "drawn_whole" and "people" in themes and draw.random() < 0.5
    )
    gpus = draw.choice([("",), ("v100",), ("a100", "v100")]) if "gpus" in themes else ()
    return Site(
        nodes=draw.choice([4, 5, 6, 7]) if shared else draw.choice([6, 8, 9, 12]),
        cores=draw.choice([4, 8, 6]) if shared and threads == 1 else 4 if shared else 1,
        memory=draw.choice([8000, 16000]),
        threads=threads,
        shared=shared,
        features=("a", "b", "fast") if themes & {"places"} else (),
        partitions=("all", "b", "c")[: draw.choice([1, 2, 3])]
        if themes & {"people", "preempts", "reserved", "limits"}
        else ("all",),
        gpus=gpus,
        licenses=("m", "l")[: draw.choice([0, 1, 2])] if themes & {"people", "reserved"} else (),
        qos=("normal", "high", "low") if accounted else (),
        accounts=("a1", "a2", "a3") if accounted else (),
        tree=kind == "drawn_whole" and draw.random() < 0.4,
    )


def _plan(draw: Random, kind: str) -> Plan:
    site = _site(draw, kind)
    conf = {**LINEAR}
    if site.shared:
        parts = ["CR_Core", "CR_Core_Memory", "CR_CPU", "CR_CPU_Memory"]
        conf |= {"SelectType": "select/cons_tres", "SelectTypeParameters": draw.choice(parts)}
        if "cores" in THEMES[kind] and draw.random() < 0.1:
            conf["SelectTypeParameters"] += ",CR_LLN"
    elif draw.random() < 0.1:
        conf["SchedulerType"] = "sched/builtin"
    loops = draw.choice([BACKFILL, BACKFILL, "bf_interval=30,bf_continue", "bf_interval=5,bf_resolution=1"])
    more = _drawn(draw, SCHEDULER, site, kind, 2)
    conf["SchedulerParameters"] = ",".join([loops, *(word for _, word in more)])
    setup: list[list[str]] = []
    if site.accounts:
        conf |= factors(draw) | {"AccountingStorageEnforce": draw.choice(["associations", "associations,limits,qos"])}
        setup = _setup(draw, draw.choice([0, 1, 2, 3]))
    conf |= {name: " ".join(value) for name, *value in _drawn(draw, CLUSTER, site, kind, 3)}
    if conf.get("PriorityDecayHalfLife") == "0":
        conf.setdefault("PriorityUsageResetPeriod", "NONE")  # slurmctld wants one that is said then
    if "preempts" in THEMES[kind] and (kind != "drawn_site" or draw.random() < 0.4):
        conf |= _preempts(draw, bool(site.accounts) and draw.random() < 0.6, setup)
    conf |= {"GresTypes": "gpu"} if site.gpus else {}
    conf |= {"Licenses": ",".join(f"{name}:4" for name in site.licenses)} if site.licenses else {}
    conf |= {"TopologyPlugin": "topology/tree"} if site.tree else {}
    groups = _groups(draw, site, kind)
    asked = _asked(draw, site, kind, _shape(site))
    events = _releases(draw, asked)
    if kind == "drawn_commands":
        events += _commands(draw, site, asked, draw.randint(12, 22))
    if kind == "drawn_limits":
        events += _changes(draw, site, asked, draw.randint(0, 3))
        events += _magnetic(draw, site) if draw.random() < 0.5 else []
    if kind == "drawn_reservations":
        reserved, asked = _reservations(draw, site, asked)
        events += reserved
    if kind == "drawn_failures":
        for _ in range(draw.randint(2, 4)):
            events += _failure(draw, site, draw.randint(20, 250))
        if draw.random() < 0.3:
            node = draw.randrange(site.nodes)
            conf["DownNodes"] = f"n{node} State={draw.choice(['DOWN', 'DRAIN', 'FAIL'])} Reason=test"
            events.append(Given(draw.randint(60, 150), ["scontrol", "update", f"NodeName=n{node}", "State=resume"]))
    if any("State=DRAIN" in group.conf for group in groups):
        events.append(
            Given(draw.randint(60, 150), ["scontrol", "update", f"NodeName=n[0-{site.nodes - 1}]", "State=resume"])
        )
    lines = _lines(draw, site, kind)
    if draw.random() < 0.2 and len(lines) > 1:  # a set of nodes by its name
        by_feature = any(word in group.conf for group in groups for word in ("=a,", "=b,")) and draw.random() < 0.5
        feature = "a" if "=a," in groups[0].conf else "b"
        conf["NodeSet"] = f"ns Feature={feature}" if by_feature else f"ns Nodes=n[0-{site.nodes - 2}]"
        lines[-1] = lines[-1].replace(lines[-1].split()[1], "Nodes=ns", 1)
    topology = _switches(draw, site.nodes) if site.tree else ""
    return base(
        conf,
        groups,
        asked,
        partitions=lines,
        events=events,
        gres=_gres(groups),
        topology=topology,
        setup=setup,
        longest=620,
    )


DRAWN: dict[str, Callable[[Random], Plan]] = {kind: partial(_plan, kind=kind) for kind in THEMES}
