"""Fair share: SchedMD's documented example, and rows that sshare and sprio of a real Slurm 22.05 printed."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import DATA, SHARED

from batprotocol.policies.fair_share import (
    Association,
    age_factor,
    billing,
    classic_factors,
    decay,
    effective_usage,
    fair_tree_factors,
    relative_factor,
    size_factor,
)

WITHOUT_ENGINE = True

RUNS = SHARED / "slurm" / "runs"
RECORDED = sorted(RUNS.glob("c_multifactor/*.json.xz")) + sorted(RUNS.glob("cf_fair/*.json.xz"))
SSHARE = "sshare -a -P -h -l"
SPRIO = 'sprio -h -o "%i %u %Y %A %F %J %P %Q %N %T"'
PRINTED = 1.1e-6  # sshare prints six digits


def documented() -> dict[str, Association]:
    """The example of "Classic Fairshare Algorithm", figure 3."""
    root = Association("root", usage=1.0)
    a, d = Association("A", 40, root, usage=0.45), Association("D", 60, root, usage=0.25)
    b, c = Association("B", 30, a, usage=0.2), Association("C", 10, a, usage=0.25)
    e, f = Association("E", 25, d, usage=0.25), Association("F", 35, d)
    members = ((b, 0.2), (c, 0.25), (c, 0.0), (e, 0.25), (f, 0.0))
    users = [
        Association(str(number), 1, account, is_user=True, usage=used) for number, (account, used) in enumerate(members)
    ]
    return {each.name: each for each in (root, a, b, c, d, e, f, *users)}


def test_the_documented_example() -> None:
    tree = documented()
    users = [tree[str(number)] for number in range(5)]
    assert [round(user.normalized_shares, 9) for user in users] == [0.3, 0.05, 0.05, 0.25, 0.35]
    factors = classic_factors(tree["root"])
    assert [round(factors[user], 6) for user in users] == [0.408479, 0.022097, 0.125, 0.5, 0.749154]
    assert classic_factors(tree["root"], dampening=3.0)[users[2]] == pytest.approx(0.5)
    # Account D used too little, so its users come first; in A, B used less of its shares than C.
    ranks = {user.name: factor for user, factor in fair_tree_factors(tree["root"]).items()}
    assert ranks == {"4": 1.0, "3": 0.8, "0": 0.6, "2": 0.4, "1": 0.2}


def test_without_usage_and_without_shares() -> None:
    root = Association("root")
    user, guest = Association("u", 1, root, is_user=True), Association("g", 0, root, is_user=True)
    assert classic_factors(root) == {user: 1.0, guest: 0.0}
    assert (user.level_fair_share, guest.level_fair_share) == (math.inf, 0.0)
    assert fair_tree_factors(root) == {user: 1.0, guest: 0.5}


def test_ties_of_fair_tree() -> None:
    root = Association("root", usage=12.0)
    one, two = Association("one", 1, root, usage=4.0), Association("two", 1, root, usage=4.0)
    lone = Association("lone", 1, root, is_user=True, usage=4.0)
    a, b = (Association(name, 1, one, is_user=True, usage=2.0) for name in "ab")
    c, d = (Association(name, 1, two, is_user=True, usage=used) for name, used in (("c", 1.0), ("d", 3.0)))
    # The accounts are merged: c used least, a and b are alike, and the user above them ties with c.
    assert fair_tree_factors(root) == {lone: 1.0, c: 1.0, a: 0.6, b: 0.6, d: 0.2}


@pytest.mark.parametrize("seed", range(20))
def test_users_of_an_account_with_the_larger_value_come_first(seed: int) -> None:
    random = Random(seed)
    root = Association("root")
    accounts = [root]
    for number in range(40):
        is_user = random.random() < 0.6
        each = Association(str(number), random.choice([0, 1, 1, 2, 5]), random.choice(accounts), is_user=is_user)
        if is_user:
            used = random.choice([0.0, 1.0, 2.0, random.random()])
            for above in each.path():
                above.usage += used
        else:
            accounts.append(each)
    factors = fair_tree_factors(root)
    assert len(factors) == sum(each.is_user for each in root.walk())
    for account in accounts:
        for one in account.members:
            for other in account.members:
                if one.level_fair_share > other.level_fair_share:
                    below = [factors[each] for each in one.walk() if each.is_user]
                    after = [factors[each] for each in other.walk() if each.is_user]
                    assert not below or not after or min(below) > max(after)


def test_decay() -> None:
    one, many = Association("one", usage=100.0), Association("many", usage=100.0)
    one.rate = many.rate = 3.0
    decay([one], 1000.0, 300.0)
    for _ in range(500):
        decay([many], 2.0, 300.0)
    assert one.usage == pytest.approx(many.usage)
    by_seconds = 100.0 * 2 ** (-1000 / 300) + sum(3.0 * 2 ** (-(second + 0.5) / 300) for second in range(1000))
    assert one.usage == pytest.approx(by_seconds, rel=1e-5)
    decay([one], 10.0, 0.0)
    assert one.usage == pytest.approx(many.usage + 30.0)


def test_factors() -> None:
    assert [age_factor(waited, 100.0) for waited in (-1.0, 50.0, 200.0)] == [0.0, 0.5, 1.0]
    assert age_factor(0.0, 0.0) == 1.0
    assert size_factor(1.0, 1.0, favor_small=True) == 0.0
    assert size_factor(1.0, 1.0, minutes=0.5) == 1.0
    assert size_factor(0.5, 0.25, favor_small=True, minutes=2.0) == 0.75
    assert relative_factor(3.0, 4.0) == 0.75
    amounts = {"cpu": 8.0, "mem": 2048.0, "gres/gpu": 2.0, "node": 1.0}
    weights = {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 10.0}
    assert billing(amounts, weights) == 28.5
    assert billing(amounts, weights, takes_max=True) == 20.0
    assert billing(amounts, {}) == 8.0


# The rows of a real Slurm


def tree_of(rows: list[str]) -> Iterator[tuple[Association, list[str], list[str] | None]]:
    """The associations of a tree that sshare printed, each with its columns and those of its parent.

    The columns are account, user, shares, normalized shares, raw, normalized and effective usage, factor, and level.
    """
    above: list[tuple[int, Association, list[str]]] = []
    for row in rows:
        depth, columns = len(row) - len(row.lstrip()), row.strip().split("|")
        while above and above[-1][0] >= depth:
            above.pop()
        parent, its = above[-1][1:] if above else (None, None)
        each = Association(f"{columns[0]} {columns[1]}", float(columns[2] or 1), parent, is_user=bool(columns[1]))
        above.append((depth, each, columns))
        yield each, columns, its


def errors_of_classic(rows: list[str]) -> Iterator[float]:
    """The differences to what sshare printed: of shares, effective usage and the factor."""
    tree = list(tree_of(rows))
    for each, columns, _ in tree:
        each.usage = float(columns[5] or 1)
    factors = classic_factors(tree[0][0])
    for each, columns, above in tree:
        if each.parent is None or above is None:
            continue
        yield each.normalized_shares - float(columns[3])
        used = float(columns[5])
        if each.parent.parent is not None:
            used = effective_usage(used, float(above[6]), each.level_share)
        yield used - float(columns[6])
        # The usage is rounded to six digits, and divided by the shares.
        yield (factors[each] - float(columns[7])) * each.normalized_shares


def errors_of_fair_tree(rows: list[str]) -> Iterator[float]:
    """The differences to what sshare printed: of shares, the level's value and the factor."""
    tree = list(tree_of(rows))
    for each, columns, _ in tree:
        each.usage = 1.0 if each.parent is None else float(columns[6]) * each.parent.usage
    factors = fair_tree_factors(tree[0][0])
    for each, columns, _ in tree[1:]:
        yield each.level_share - float(columns[3])
        value, printed = each.level_fair_share, float(columns[8])
        yield 0.0 if value == printed else (value - printed) * float(columns[6]) / max(value, 1.0)
        if each.is_user:
            yield factors[each] - float(columns[7])


def test_rows_of_sshare() -> None:
    rows = json.loads((DATA / "policies" / "sshare.json").read_text())
    assert max(map(abs, errors_of_classic(rows["classic"]))) < PRINTED
    assert max(map(abs, errors_of_fair_tree(rows["fair_tree"]))) < PRINTED


@cache
def run_of(path: Path) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return run


needs_runs = pytest.mark.skipif(not RECORDED, reason="needs the recorded runs of Slurm in ../shared/slurm")


@needs_runs
def test_all_rows_of_sshare() -> None:
    count, largest = 0, 0.0
    for path in RECORDED:
        run = run_of(path)
        is_classic = "NO_FAIR_TREE" in run["slurm_conf"].get("PriorityFlags", "")
        for sample in run["samples"]:
            if rows := sample.get(SSHARE):
                errors = errors_of_classic(rows) if is_classic else errors_of_fair_tree(rows)
                largest = max(largest, *map(abs, errors))
                count += len(rows)
    assert count > 1500
    assert largest < PRINTED


def minutes_of(limit: str) -> float:
    """A walltime that Slurm printed, in minutes: `1-00:02:00`."""
    days, _, rest = limit.rpartition("-")
    hours, minutes, seconds = map(int, rest.split(":"))
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


@needs_runs
def test_all_rows_of_sprio() -> None:
    """Each part of each row, within the rounding of what is printed."""
    count = 0
    for path in RECORDED:
        run = run_of(path)
        conf, jobs = run["slurm_conf"], {job["JobId"]: job for job in run["result_jobs"]}
        age, fair, size, part, qos = (
            int(conf.get(f"PriorityWeight{name}", 0)) for name in ("Age", "Fairshare", "JobSize", "Partition", "QOS")
        )
        hosts = sum(each["count"] for each in run["nodes"])
        favor_small = conf.get("PriorityFavorSmall") == "YES"
        relative = "SMALL_RELATIVE_TO_TIME" in conf.get("PriorityFlags", "")
        for sample in run["samples"]:
            users = {row.split("|")[1]: row.split("|") for row in sample.get(SSHARE, ())}
            seen: list[tuple[int, float]] = []
            for row in sample[SPRIO]:
                job_id, user, *numbers = row.split()
                total, aged, shared, sized, parted, qualified, nice = map(int, numbers[:7])
                job = jobs[job_id]
                minutes = minutes_of(job["TimeLimit"]) if relative else None
                fraction = int(job["NumNodes"].partition("-")[0]) / hosts
                assert abs(size * size_factor(fraction, fraction, favor_small=favor_small, minutes=minutes) - sized) < 1
                assert part * relative_factor({"all": 10, "fast": 40}[job["Partition"]], 40) == parted
                quality = {"high": 100, "low": 10}.get(job["QOS"], 0)
                assert abs(qos * relative_factor(quality, 100) - qualified) < 1
                assert abs(max(aged + shared + sized + parted + qualified - nice, 1) - total) <= 1
                assert int(job["Nice"]) == nice
                if users:
                    assert abs(fair * float(users[user][7]) - shared) < 0.51
                seen.append((aged, job["AccrueTime"]))
                count += 1
            # Slurm computes the ages once a minute, at a time that is not recorded: they fit to one time.
            oldest = minutes_of(conf["PriorityMaxAge"].removeprefix("0-")) * 60
            times = [aged / age * oldest + accrued for aged, accrued in seen if 0 < aged < age]
            if times:
                assert all(abs(age * age_factor(max(times) - accrued, oldest) - aged) <= 1.01 for aged, accrued in seen)
    assert count > 2500
