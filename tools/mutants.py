"""Do the tests bite? Changes the code at random places, and runs the tests of the package that was changed.

    python tools/mutants.py                         # 200 mutants over all packages
    python tools/mutants.py --rooms edc --mutants 20 --seed 7 --jobs 2
    python tools/mutants.py --only 12 57 --whole    # two of the 200 again, and if need be with all tests of the package

The changes (of a comparison, a boolean, a number, an operator, a loop) are those of cosmic-ray (`pip install -e
'.[mutants]'`). Their places are drawn evenly from all places of the packages. The quick tests of the package judge
them, with all engines; `--whole` runs the slow tests, too, on mutants that pass, with as many examples as usual. A
mutant that no test notices is printed with its difference: write the missing test, or see that the change has no
effect. The tree is copied, so the working copy stays as it is. The tool must not know any test by name: `ROOMS` defines
which folder judges which package.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "builder": ("batprotocol/builder", "tests/builder"),
    "capture": ("batprotocol/capture", "tests/capture"),
    "conversation": ("batprotocol/conversation", "tests/conversation"),
    "edc": ("batprotocol/edc", "tests/edc"),
    "entities": ("batprotocol/campaigns/entities", "tests/campaigns"),
    "gym": ("batprotocol/gym", "tests/learning"),
    "nodes": ("batprotocol/fast/nodes", "tests/fast"),
    "policies": ("batprotocol/policies", "tests/policies"),
    "results": ("batprotocol/simulator/results", "tests/simulator"),
    "schemas": ("batprotocol/schemas", "tests/schemas"),
    "studies": ("batprotocol/studies", "tests/studies"),
    "translate": ("batprotocol/legacy/translate", "tests/legacy/translate"),
    "wire": ("batprotocol/wire", "tests/wire"),
}
"""The code of each package, and the tests that must notice its changes."""

QUICK = ("-m", "not slow", "--hypothesis-profile=quick")
WHOLE = ()
"""The tests of the package to run: the quick ones, and all except those that take minutes."""

MEMORY = 6 << 30
"""The bytes that the tests of a mutant may take, as a changed loop can go on and on."""

UNCHANGING = {
    "core/RemoveDecorator",  # mostly @property and @dataclass: the room would not even be imported
    "core/VariableInserter",
    "core/VariableReplacer",
}
"""Operators of cosmic-ray that are not used."""


class Mutant(NamedTuple):
    """One change: a place of a module, and which operator of cosmic-ray changes it, with the number of the change."""

    room: str
    module: str
    operator: str
    occurrence: int
    line: int


class Outcome(NamedTuple):
    """The result of a mutant: "killed", "survived" or "time-out" (which counts as noticed), and what was changed."""

    mutant: Mutant
    fate: str
    difference: str
    seconds: float


def modules_of(room: str) -> list[Path]:
    """The modules of a package, in order."""
    path = ROOT / ROOMS[room][0]
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def unread_spans(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a change changes nothing: annotations, which are never evaluated."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                end = (annotation.end_lineno or 0, annotation.end_col_offset or 0)
                spans.append(((annotation.lineno, annotation.col_offset), end))
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            spans.append(((node.lineno, 0), (node.end_lineno or 0, node.end_col_offset or 0)))
    return spans


def places(room: str) -> Iterator[list[Mutant]]:
    """The places of a package that can be changed, each with its mutants."""
    from cosmic_ray.commands.init import init
    from cosmic_ray.work_db import WorkDB

    for module in modules_of(room):
        spans = unread_spans(module.read_text(encoding="utf-8"))
        found: dict[tuple[int, int], list[Mutant]] = defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            database = WorkDB(str(Path(folder) / "session.sqlite"), WorkDB.Mode.create)
            try:
                init([module], database, {})
                items = [item.mutations[0] for item in database.work_items]
            finally:
                database.close()
        for item in items:
            start = tuple(item.start_pos)
            if item.operator_name in UNCHANGING or any(first <= start < last for first, last in spans):
                continue
            name = str(module.relative_to(ROOT))
            found[start].append(Mutant(room, name, item.operator_name, item.occurrence, start[0]))
        yield from (found[start] for start in sorted(found))


def drawn(rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """A number of mutants, each at another place, drawn evenly from all places."""
    chance = random.Random(seed)
    candidates = [mutants for room in rooms for mutants in places(room)]
    return [chance.choice(mutants) for mutants in chance.sample(candidates, min(count, len(candidates)))]


def copied_tree(folder: Path) -> Path:
    """A copy of the tree with all that the tests need, the compiled engine and the recordings included."""
    copy = folder / ROOT.name
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    engines = [str(path.relative_to(ROOT)) for path in ROOT.glob("batprotocol/**/*.so*")]
    for name in [*files.stdout.split("\0"), *engines]:
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


def tests_of(room: str, which: Sequence[str], copy: Path, timeout: float | None) -> tuple[str, float]:
    """Run tests of a package until one fails: "killed", "survived" or "time-out", and the seconds that it took."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *which, ROOMS[room][1]]
    environment = {**os.environ, "PYTHONPATH": str(copy), "BATPROTOCOL_TEST_PATIENCE": "20"}
    # What is compiled before anything is changed is kept, and what is changed is not.
    environment |= {"PYTHONDONTWRITEBYTECODE": "" if timeout is None else "1"}
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    if sys.platform == "linux":
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        fate = "killed" if process.wait(timeout) else "survived"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        fate = "time-out"
    return fate, time.monotonic() - began


def tried(mutant: Mutant, copy: Path, timeouts: dict[Sequence[str], float]) -> Outcome:
    """Change a copy, run the tests, and put the copy right again."""
    import difflib

    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    taken = 0.0
    with use_mutation(copy / mutant.module, get_operator(mutant.operator)(), mutant.occurrence) as (before, after):
        lines = difflib.unified_diff(before.splitlines(), (after or "").splitlines(), n=0, lineterm="")
        difference = "\n".join(line for line in lines if line[:2] not in ("--", "++", "@@"))
        for which, timeout in timeouts.items():
            fate, seconds = tests_of(mutant.room, which, copy, timeout)
            taken += seconds
            if fate != "survived":
                break
    return Outcome(mutant, fate, difference, taken)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and try mutants, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS), help="packages (default: all)")
    parser.add_argument("--mutants", type=int, default=200, metavar="N", help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--only", nargs="+", type=int, metavar="N", help="of these, only those with these numbers")
    parser.add_argument("--whole", action="store_true", help="run all tests of the package on mutants that pass")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at once")
    options = parser.parse_args(arguments)
    chosen = dict(enumerate(drawn(options.rooms, options.mutants, options.seed), 1))
    if options.only:
        chosen = {number: chosen[number] for number in options.only}
    rooms = [room for room in options.rooms if any(mutant.room == room for mutant in chosen.values())]
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(copied_tree(Path(folder) / str(number)))
        timeouts: dict[str, dict[Sequence[str], float]] = defaultdict(dict)
        for room, which in itertools.product(rooms, (QUICK, WHOLE) if options.whole else (QUICK,)):
            for _ in range(options.jobs):
                copy = copies.get()
                fate, usual = tests_of(room, which, copy, None)
                copies.put(copy)
            timeouts[room][which] = 3 * usual + 20
            print(f"{room}: its {'quick ' * (which == QUICK)}tests take {usual:.0f} s", flush=True)
            if fate != "survived":
                print(f"the tests in {ROOMS[room][1]} fail before anything is changed", file=sys.stderr)
                return 2

        def work(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                return tried(mutant, copy, timeouts[mutant.room])
            finally:
                copies.put(copy)

        for number, outcome in zip(chosen, pool.map(work, chosen.values()), strict=True):
            outcomes.append(outcome)
            place = f"{outcome.mutant.module}:{outcome.mutant.line}"
            operator = outcome.mutant.operator.removeprefix("core/")
            print(f"{number:3} {outcome.fate:9} {outcome.seconds:5.1f} s {place} {operator}", flush=True)
            if outcome.fate == "survived":
                print(outcome.difference, flush=True)
    for room in rooms:
        own = [outcome for outcome in outcomes if outcome.mutant.room == room]
        noticed = sum(outcome.fate != "survived" for outcome in own)
        print(f"{room}: {noticed} of {len(own)} noticed")
    noticed = sum(outcome.fate != "survived" for outcome in outcomes)
    print(f"{noticed} of {len(outcomes)} noticed ({noticed / max(1, len(outcomes)):.1%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
