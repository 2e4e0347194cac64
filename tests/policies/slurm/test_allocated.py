"""The amounts that jobs took of their nodes under the policy `slurm`, in Python and in allocations.csv."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from batprotocol.cli.main import main
from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.results.reports import read_allocations
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of
from batprotocol.workloads.requests import Allocated

WITHOUT_ENGINE = True

CONF = """
SelectType=select/{select}
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=n[0-3] CPUs=8 RealMemory=4096 Gres=gpu:2
PartitionName=p Nodes=ALL Default=YES DefMemPerNode=100"""


def job(name: str, size: int, **asked: object) -> StaticJob:
    return StaticJob(name, 0.0, size, DelayProfile(10.0), walltime=60.0, extra_data=json.dumps(asked))


def allocated(select: str, *jobs: StaticJob) -> dict[str, Allocated]:
    scheduler = SlurmScheduler(configuration_of(CONF.format(select=select)))
    result = simulate(described_platform("n[0-3] cores=8"), Workload(jobs), scheduler)
    rows = {each.job_id: each for each in scheduler.allocated}
    assert {f"w0!{row.job_id}": row.allocated_resources for row in result.jobs} == {
        name: each.hosts for name, each in rows.items()
    }
    return rows


def test_shares_of_nodes_have_their_amounts() -> None:
    found = allocated(
        "cons_tres",
        job("a", 1, cores=3, memory="512M", gres={"gpu": 1}),
        job("b", 2, slurm={"nodes": [2, 2], "tasks": 5}),
        job("c", 1, exclusive=True),
    )
    a, b, c = (found[f"w0!{name}"] for name in "abc")
    assert (a.cores, a.memory, [str(each) for each in a.gres], a.whole) == (3, 512 << 20, ["gpu:1"], False)
    assert (b.cores, b.memory, b.whole) == (4, 100 << 20, False)  # four on one node, and one on the other one
    assert (c.cores, c.memory, c.whole, c.partition) == (0, 0, True, "p")
    assert [each.memory_share for each in (a, b, c)] == [512 / 16384, 200 / 16384, 1 / 4]
    assert [each.gpu_share for each in (a, b, c)] == [1 / 8, 0.0, 2 / 8]


def test_whole_nodes_have_no_amounts() -> None:
    found = allocated("linear", job("a", 2, cores=3))["w0!a"]
    assert (found.cores, found.memory, found.gres, found.whole) == (0, 0, (), True)
    assert (found.memory_share, found.gpu_share) == (0.5, 0.5)


@pytest.mark.parametrize("select", ["cons_tres", "linear"])
@pytest.mark.parametrize("shared", ["NO", "FORCE:3"])
@pytest.mark.parametrize("seed", range(3))
def test_memory_and_gpus_are_never_used_twice(select: str, shared: str, seed: int) -> None:
    """Cores may be (OverSubscribe=FORCE): then the shares of memory that jobs hold still add up to 1 at most."""
    draw = random.Random(seed)
    asks: list[dict[str, object]] = [{"cores": 8}, {"memory": "1500M", "cores": 1}, {"gres": {"gpu": 1}, "cores": 2}]
    jobs = [job(f"{n}", draw.choice([1, 2]), **draw.choice([*asks, {"exclusive": True}])) for n in range(40)]
    scheduler = SlurmScheduler(configuration_of(f"{CONF.format(select=select)} OverSubscribe={shared}"))
    result = simulate(described_platform("n[0-3] cores=8"), Workload(jobs), scheduler)
    result.allocations = scheduler.allocated
    taken = {each.job_id: each for each in scheduler.allocated}
    ran = [row for row in result.jobs if row.starting_time is not None]
    assert len(ran) > 30
    for name, used in (
        ("memory_share", result.metrics().memory_utilisation),
        ("gpu_share", result.metrics().gpu_utilisation),
    ):
        if select == "linear" and shared != "NO":  # it does not say what jobs have of the nodes that they share
            assert used is None
            continue
        for time in (row.starting_time or 0.0 for row in ran):
            now = [row for row in ran if (row.starting_time or 0.0) <= time < (row.finish_time or 0.0) - 1e-5]
            assert math.fsum(getattr(taken[f"w0!{row.job_id}"], name) for row in now) <= 1 + 1e-9
        assert used is not None
        assert 0 < used <= 1


def test_a_simulation_writes_its_rows(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(select="cons_tres"))
    workload = {
        "nb_res": 4,
        "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "d", "walltime": 60, "extra_data": '{"cores": 2}'}],
        "profiles": {"d": {"type": "delay", "delay": 10}},
    }
    (tmp_path / "w.json").write_text(json.dumps(workload))
    with pytest.raises(SystemExit) as left:
        main(
            [
                "simulate",
                f"slurm:{conf}",
                "-w",
                str(tmp_path / "w.json"),
                "--hosts",
                "n[0-3] cores=8",
                "-o",
                str(tmp_path / "out"),
            ]
        )
    assert left.value.code in (0, None)
    (row,) = read_allocations(tmp_path / "out" / "allocations.csv")
    assert (row.job_id, row.partition, row.cores, row.whole) == ("w0!1", "p", 2, False)
