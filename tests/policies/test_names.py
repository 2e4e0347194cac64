"""Policies by names, on the command line and in Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_here

from batprotocol import policies
from batprotocol.edc.scheduler import load
from batprotocol.errors import SchedulerError
from batprotocol.policies import (
    EASY,
    PARTS,
    Allocation,
    Conservative,
    Greedy,
    Last,
    MeanOfLast,
    Multifactor,
    Policy,
    PolicyNameError,
    Reservations,
    by_name,
    is_name,
    named,
    parts_of,
    with_options,
)

WITHOUT_ENGINE = True


@pytest.mark.parametrize(
    ("name", "order", "backfilling", "hosts"),
    [
        ("fcfs", "fcfs", "none", "first"),
        ("easy-sjf", "sjf", "easy", "first"),
        ("SAF+Greedy", "saf", "greedy", "first"),
        ("easy+best-contiguous+wfp3", "wfp3", "easy", "best-contiguous"),
        ("wfp3-best-contiguous-easy", "wfp3", "easy", "best-contiguous"),
        ("last", "fcfs", "none", "last"),
    ],
)
def test_parts_come_in_any_order(name: str, order: str, backfilling: str, hosts: str) -> None:
    policy = named(name)()
    assert (policy.order.name, policy.backfilling.name, policy.allocation.name) == (order, backfilling, hosts)
    assert policy.name == name


def test_parts_take_options() -> None:
    policy = named("f1+easy=saf,no-spare,strict,once+predicted=3+keep+each+resolution=1")()
    assert isinstance(policy.backfilling, EASY)
    assert policy.backfilling.order is not None
    assert policy.backfilling.order.name == "saf"
    assert (policy.backfilling.spare, policy.backfilling.strict, policy.backfilling.once) == (False, True, True)
    assert isinstance(policy.walltimes, MeanOfLast)
    assert policy.walltimes.count == 3
    assert (policy.keeps, policy.each, policy.resolution) == (True, True, 1.0)
    shared, depth = named("shared=3+conservative=20")(), named("conservative")().backfilling
    assert shared.allocation.share == 3
    assert isinstance(shared.backfilling, Conservative)
    assert isinstance(depth, Conservative)
    assert (shared.backfilling.depth, depth.depth) == (20, None)
    greedy = named("greedy=sjf")().backfilling
    assert isinstance(greedy, Greedy)
    assert greedy.order is not None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no part ''"),
        ("eazy", "no part 'eazy'"),
        ("easy-foo", "no part 'foo'"),
        ("sjf-saf", "sjf and saf exclude one another"),
        ("sjf=1", "sjf takes no options"),
        ("easy=foo", "no order 'foo'"),
        ("easy=sjf,saf", "expected one option"),
        ("predicted=0", "expected a whole number >= 1, got '0'"),
        ("predicted=1.5", "expected a whole number"),
        ("resolution=nan", "expected a number >= 0"),
        ("multifactor=1,2,3,4", "at most three weights"),
        ("multifactor=-1", "expected oldest > 0"),
        ("each+each", "each is named twice; keep one of them"),
        ("shared=0", "expected a whole number >= 1"),
        ("shared=101", "expected a share from 1 to 100, got 101"),
        ("shared+first", "exclude one another"),
        ("conservative=-1", "expected a whole number >= 0"),
        ("reservations=0", "expected a whole number >= 1, got '0'"),
        ("reservations=2,sjf,saf", "expected a number and an order, got '2,sjf,saf'"),
        ("greedy=sjf,saf", "expected one option, got 'sjf,saf'"),
        ("off=-1", "expected a number >= 0, got '-1'"),
        ("off=inf", "expected a number >= 0, got 'inf'"),
        ("resolution=1,2", "expected one option, got '1,2'"),
        ("shared=x", "expected a whole number >= 1, got 'x'"),
        ("easy+site", "site needs a file, as in site=site.toml"),
        ("checkpoint=dayl,60", r"expected SECONDS or a formula \(young, daly, lanl\), got 'dayl'"),
    ],
)
def test_what_is_wrong_with_a_name_is_told(name: str, why: str) -> None:
    with pytest.raises(PolicyNameError, match=why):
        named(name)


@pytest.mark.parametrize(
    ("name", "near"), [("eazy", "easy"), ("easy-sfj", "sjf"), ("conservativ", "conservative"), ("easy=wpf3", "wfp3")]
)
def test_a_near_name_is_suggested(name: str, near: str) -> None:
    with pytest.raises(PolicyNameError, match=rf"is not a policy: .*; did you mean '{near}'\?"):
        named(name)
    with pytest.raises(PolicyNameError, match=r"""there is no part 'qqqq'; "batproto policies" lists the parts$"""):
        named("qqqq")


def test_options_of_parts_that_do_not_exist_are_refused() -> None:
    with pytest.raises(PolicyNameError, match=r"options of 'easy' cannot be set: .* did you mean 'off'\?"):
        with_options("easy", {"of": 60})
    with pytest.raises(PolicyNameError, match="sjf takes no options; give it true or false"):
        with_options("easy", {"sjf": 60})


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("easy-sjf", {}, "easy+sjf"),
        ("easy=sjf+off=5+keep", {"off": 60}, "easy=sjf+off=60+keep"),
        ("easy+off=5+keep", {"off": 0.25, "each": True}, "easy+off=0.25+keep+each"),
        ("easy+off=5+keep", {"off": True, "keep": False}, "easy+off"),
        ("easy+keep", {"keep": True, "each": False}, "easy+keep"),
        ("fcfs", {"easy": "sjf,strict"}, "fcfs+easy=sjf,strict"),
    ],
)
def test_options_take_the_place_of_those_before(name: str, options: dict[str, Any], expected: str) -> None:
    assert with_options(name, options) == expected


def test_options_have_the_meaning_of_their_arguments() -> None:
    assert named("off")().switching.after == 600.0
    assert (named("off=5")().switching.after, named("resolution")().resolution) == (5.0, 1.0)
    assert (named("shared")().allocation.share, named("fcfs")().resolution) == (2, 1e-3)
    predicted, several = named("predicted")().walltimes, named("reservations=3,sjf")().backfilling
    assert isinstance(predicted, MeanOfLast)
    assert isinstance(several, Reservations)
    assert (predicted.count, several.count, getattr(several.order, "name", "")) == (2, 3, "sjf")
    for text, weights in (("=1", (1, 1000, 1000)), ("=1,-2", (1, -2, 1000)), ("=0,2,3", (0, 2, 3)), ("", (1000,) * 3)):
        order = named(f"multifactor{text}")().order
        assert isinstance(order, Multifactor)
        assert (order.age, order.size, order.share) == weights


def test_each_policy_is_a_fresh_one() -> None:
    kind = named("easy=sjf+multifactor")
    assert kind().backfilling is not kind().backfilling
    assert kind().order is not kind().order


def test_the_parts_of_a_name() -> None:
    def names(text: str) -> list[str] | None:
        parts = parts_of(text)
        return None if parts is None else [part.name for part in parts]

    assert names("sjf-easy=saf,strict+off=60") == ["sjf", "easy", "off"]
    assert names("best-contiguous") == ["best-contiguous"]
    assert names("easy+foo") is names("scheduler.py") is None


def test_a_name_is_told_from_a_file() -> None:
    assert is_name("easy-sjf")
    assert is_name("conservativ") is False
    assert not is_name("scheduler.py:FCFS")


def test_those_who_know_files_only_find_policies_in_one() -> None:
    assert by_name.__file__ is not None
    assert load(f"{by_name.__file__}:easy-sjf")().name == "easy-sjf"
    with pytest.raises(SchedulerError):
        load(f"{by_name.__file__}:eazy")


def test_the_old_names_of_allocations_warn() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"batprotocol\.policies\.Place is .* batprotocol\.policies\.Allocation"
    ):
        assert policies.Place is Allocation
    sys.modules.pop("batprotocol.policies.places", None)
    with pytest.warns(DeprecationWarning, match=r"use batprotocol\.policies\.allocations instead"):
        places = importlib.import_module("batprotocol.policies.places")
    assert (places.Place, places.Last) == (Allocation, Last)
    last = Last()
    old: dict[str, Any] = {"hosts": last}
    with pytest.warns(DeprecationWarning, match=r"'hosts' of __init__\(\) is deprecated: use 'allocation' instead"):
        policy = Policy(**old)
    assert policy.allocation is last
    with pytest.warns(DeprecationWarning, match=r"Policy\.hosts is deprecated: use Policy\.allocation instead"):
        assert policy.hosts is last


# On the command line


def test_the_list_has_each_part_with_its_sentence() -> None:
    result = run_here("policies")
    assert result.status == 0
    for part in PARTS.values():
        assert part.name in result.out
        assert part.sentence in result.out
        assert part.source in result.out


@pytest.mark.slow
def test_a_policy_is_simulated_by_its_name(tmp_path: Path) -> None:
    result = run_here("simulate", "easy-sjf", "-o", str(tmp_path))
    assert (result.status, result.err) == (0, "")
    assert "250 (" in result.out
    assert (tmp_path / "jobs.csv").is_file()


@pytest.mark.slow
def test_a_folder_of_that_name_is_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run_here("simulate", "fcfs", "-w", "lublin:4?jobs=5", "-o", "fcfs").status == 0


@pytest.mark.parametrize("command", ["simulate", "run", "library", "conformance"])
def test_an_unknown_policy_is_told(command: str) -> None:
    result = run_here(command, "eazy")
    assert result.status == 2
    assert "no part 'eazy'" in result.err
    assert "did you mean 'easy'?" in result.err


def test_the_name_of_a_slurm_is_for_another_function() -> None:
    with pytest.raises(
        PolicyNameError, match=r"^'slurm:slurm.conf' is a Slurm, which has no parts: use scheduler_named$"
    ):
        named("slurm:slurm.conf")
