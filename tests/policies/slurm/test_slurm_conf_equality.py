"""Files slurm.conf drawn from the manual, and what a real slurmctld 22.05.8 made of them: read here in the same way."""

from __future__ import annotations

import json
import lzma
import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from servers import find
from support import DATA, ROOT

from batprotocol.errors import InputError
from batprotocol.sites.slurm.configuration import configuration_of
from batprotocol.sites.slurm.configuration_values import FOREIGN, KINDS
from batprotocol.sites.slurm.texts import leading_number

sys.path.append(str(ROOT / "tools"))
import slurm_conf_equality
from slurm_conf_equality import compared, judged
from slurming.confs import ELSEWHERE, drawn, drawn_keys, expected_keys
from slurming.controller import Answer, ask

WITHOUT_ENGINE = True

SEEDS = 400
DRAWN: list[tuple[dict[str, str], list[Any]]] = json.loads(
    lzma.decompress((DATA / "slurm_conf" / "drawn.json.xz").read_bytes())
)
"""Drawn files, and slurmctld's answers."""
NUMBERS: dict[str, dict[str, Any]] = json.loads((DATA / "slurm_conf" / "numbers.json").read_text())
"""Texts of numbers and times, by parameter, and what slurmctld printed of them; None: it refused the file."""


def written(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / "slurm.conf"


@pytest.mark.parametrize("number", range(len(DRAWN)))
def test_drawn_files_are_read_as_slurmctld_read_them(number: int, tmp_path: Path) -> None:
    """Field by field; what it refused is refused or named, and what it warned of is named."""
    files, answer = DRAWN[number]
    verdict = compared("drawn", written(files, tmp_path), Answer(*answer))
    assert verdict.kind != "silent", verdict.details


def test_another_value_is_noticed(tmp_path: Path) -> None:
    files, answer = next(each for each in DRAWN if not each[1][0])
    wrong = [text.replace("CPUTot=", "CPUTot=9") if isinstance(text, str) else text for text in answer]
    assert compared("drawn", written(files, tmp_path), Answer(*wrong)).kind == "silent"
    unsaid = [answer[0], answer[1] + "\nerror: NodeNames=zz CPUs=8 match no Sockets", *answer[2:]]
    assert compared("drawn", tmp_path / "slurm.conf", Answer(*unsaid)).kind == "silent"


def test_each_key_of_the_manual_is_drawn() -> None:
    counts: Counter[str] = sum((drawn_keys(drawn(seed)) for seed in range(SEEDS)), Counter())
    assert sorted(expected_keys() - set(counts)) == []


def test_a_seed_makes_the_same_files_again() -> None:
    assert drawn(11) == drawn(11) != drawn(12)


# Numbers and times


@pytest.mark.parametrize("key", ["KillWait", "PriorityWeightAge", "DefMemPerNode"])
def test_numbers_are_read_as_slurmctld_reads_them(key: str) -> None:
    field = {"KillWait": "kill_wait", "DefMemPerNode": "memory_per_node"}.get(key)
    for text, printed in NUMBERS[key].items():
        try:
            found = configuration_of(f"{key}={text}\n")
        except InputError:
            assert printed is None, text
            continue
        got = getattr(found.jobs, field) if field else found.priority.weight_age
        if printed in ("UNLIMITED", "other", "0") and key == "DefMemPerNode":
            assert got is None or got >= 2**62, text
        else:
            assert printed is not None, text
            assert got == float(printed), text


def test_times_are_read_as_slurmctld_reads_them() -> None:
    """Except times of more than 68 years, which become negative in Slurm's 32 bits: they are refused here."""
    for text, printed in NUMBERS["MaxTime"].items():
        try:
            got = configuration_of(f"PartitionName=p MaxTime={text}\n").partitions[0].max_time
        except InputError:
            assert printed is None or text.startswith("-") or int(re.split("[-:]", text)[0]) > 24_855, text
            continue
        assert printed is not None, text
        assert slurm_conf_equality.PARTITION["MaxTime"][0](printed) == got, text


def test_options_are_read_as_atoi_reads_them() -> None:
    """slurmctld tells the number that it has read, if the number is out of the range of bf_interval."""
    for text, number in NUMBERS["bf_interval"].items():
        read = leading_number(text)
        assert read == number or (number is None and (1 <= read <= 10_800 or read == -1)), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bf_interval=45s", 45.0),
        ("bf_interval==45", 30.0),
        ("BF_INTERVAL=50,bf_interval=60", 50.0),
        ("my_bf_interval=70", 70.0),
        ("bf_interval", 30.0),
        ("bf_interval=-1", math.inf),
        ("bf_interval=4294967297", 1.0),
    ],
)
def test_options_are_looked_for_in_the_text(text: str, expected: float) -> None:
    found = configuration_of(f"SchedulerParameters={text}\n")
    assert found.scheduler.bf_interval == expected
    assert text in ("bf_interval=-1",) or found.not_followed  # nothing odd is silent


# Lines given twice, and what slurmctld resets or leaves out


def test_the_last_of_a_key_counts() -> None:
    found = configuration_of(
        "SchedulerParameters=bf_interval=60,defer\nSchedulerParameters=bf_window=100\nKillWait=5\nKillWait=7\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_LLN\nSelectTypeParameters=CR_CPU\n"
        "PreemptType=preempt/qos\nPreemptMode=FOO\nPreemptMode=SUSPEND,GANG\nPreemptMode=REQUEUE\n"
        "NodeName=n0 CPUs=2 CPUs=4\n"
    )
    assert (found.scheduler.bf_interval, found.scheduler.defer, found.scheduler.bf_window) == (30.0, False, 6000.0)
    assert (found.jobs.kill_wait, found.select.unit, found.select.least_loaded) == (7.0, "cpu", False)
    assert (found.preemption.mode, found.preemption.gang, found.nodes[0].cpus) == ("requeue", False, 4)
    again = [each.name for each in found.not_followed if "is given again" in each.reason]
    assert set(again) == {"SchedulerParameters", "KillWait", "SelectTypeParameters", "PreemptMode", "CPUs"}
    assert [each.line for each in found.not_followed] == sorted(each.line for each in found.not_followed)


@pytest.mark.parametrize(
    ("line", "cpus", "said"),
    [
        ("CPUs=8 Sockets=1 CoresPerSocket=4", 4, "NodeName=n0 has CPUs=8"),
        ("CPUs=10 CoresPerSocket=4", 4, "NodeName=n0 has CPUs=10"),
        ("CPUs=2 Sockets=2 CoresPerSocket=4", 2, ""),
        ("CPUs=0", 1, "NodeName=n0 has CPUs=0"),
        ("Boards=3 Sockets=2", 2, "NodeName=n0 has 2 sockets on 3 boards"),
        ("CPUs=4 CoreSpecCount=9", 4, "NodeName=n0 has CoreSpecCount=9"),
        ("RealMemory=10 MemSpecLimit=10", 1, "NodeName=n0 has MemSpecLimit=10"),
    ],
)
def test_cpus_that_do_not_fit_are_reset(line: str, cpus: int, said: str) -> None:
    found = configuration_of(f"NodeName=n0 {line}\n")
    assert found.nodes[0].cpus == cpus
    assert any(f"{each.name} {each.reason}".startswith(said) for each in found.not_followed) or not said


def test_nodes_that_there_are_not_are_left_out_and_named(tmp_path: Path) -> None:
    conf = "TopologyPlugin=topology/tree\nNodeName=n[0-1]\nDownNodes=n[1-2]\nPartitionName=p Nodes=ALL\n"
    files = {"slurm.conf": conf, "topology.conf": "SwitchName=s Nodes=n[0-1],m0\n"}
    found = slurm_conf_equality.read_configuration(written(files, tmp_path))
    assert [node.state for node in found.nodes] == ["UNKNOWN", "DOWN"]
    assert found.switches[0].nodes == ("n0", "n1")
    named = [str(each).removeprefix(f"{tmp_path}/") for each in found.not_followed]
    assert any(each.startswith("slurm.conf:3: DownNodes has nodes that there are not") for each in named)
    assert any(each.startswith("topology.conf:1: Nodes has nodes that there are not") for each in named)


def test_resources_of_other_kinds_are_left_out_and_named() -> None:
    found = configuration_of(
        "GresTypes=nvme,bandwidth\nNodeName=n0 Gres=nvme:1T,bandwidth:lustre:no_consume:4G,gpu:2\n"
    )
    assert found.nodes[0].gres == (("bandwidth:lustre", 4 << 30), ("nvme", 1 << 40))
    assert [each.name for each in found.not_followed] == ["Gres=gpu"]


# A slurmctld that is here


@pytest.mark.slow
def test_the_parameters_of_other_versions_are_those_that_slurmctld_does_not_know(tmp_path: Path) -> None:
    find("slurmctld")
    fatal = {"accountingstorageloc", "accountingstorejobcomment", "sallocdefaultcommand"}
    keys = [*FOREIGN[""] - fatal, "killwait"]
    lines = [f"{key}=zzz" for key in keys]
    log = ask({"slurm.conf": "\n".join(["ClusterName=x", *lines])}, tmp_path / "slurm").log
    assert {each.lower() for each in re.findall("unrecognized key: (.*)", log)} == FOREIGN[""] - fatal


@pytest.mark.slow
def test_the_kinds_of_parameters_are_those_of_slurmctld(tmp_path: Path) -> None:
    """slurmctld complains about each number and flag of the table, and about no word."""
    find("slurmctld")
    keys = [*KINDS[""], "licenses", "launchparameters"]
    log = ask({"slurm.conf": "\n".join(["ClusterName=x", *(f"{key}=zzz" for key in keys)])}, tmp_path / "slurm").log
    numbers = re.findall(r'(\w+) value (?:\(zzz\)|"zzz") is not a valid', log)
    flags = re.findall(r'"zzz" is not a valid option for "(\w+)"', log)
    assert {each.lower() for each in (*numbers, *flags)} == set(KINDS[""])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [9001, 9002, 9003])
def test_drawn_files_are_read_as_slurmctld_reads_them_now(seed: int, tmp_path: Path) -> None:
    find("slurmctld")
    verdict = judged(f"seed {seed}", drawn(seed), tmp_path / "slurm")
    assert verdict.kind != "silent", verdict.details


@pytest.mark.long
@pytest.mark.slow
def test_two_hundred_files_are_read_as_slurmctld_reads_them(tmp_path: Path) -> None:
    find("slurmctld")
    verdicts = [judged(f"seed {seed}", drawn(seed), tmp_path / str(seed)) for seed in range(200)]
    assert [each for each in verdicts if each.kind == "silent"] == []


def test_keys_of_this_machine_are_keys() -> None:
    from batprotocol.sites.slurm.parameters import CLUSTER

    assert {*CLUSTER} > ELSEWHERE - {"frontendname"}
