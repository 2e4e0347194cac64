"""Change the code at random places, and run the tests of the package that was changed. Do they notice it?

    python tools/mutants.py                         # 200 changes in all packages
    python tools/mutants.py --packages edc --mutants 20 --seed 7 --jobs 2
    python tools/mutants.py --only 12 57 --whole    # two of the 200 again, if necessary with all tests of the package

cosmic-ray makes the changes (`pip install -e '.[mutants]'`): of a comparison, a boolean, a number, an operator or a
loop. The places are drawn evenly from all places of the packages. The quick tests of the package run on each change,
with all engines, after the examples in the docstrings of the changed module. With `--whole`, the changes that they do
not notice go to the slow tests, too, with as many examples as usual. A change that no test notices is printed with its
difference: write the missing test, or check that the change has no effect. The tree is copied, so the working copy is
not changed. `PACKAGES` defines which folder of tests belongs to which package. The tool must not know tests by name.
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
PACKAGES = {
    "builder": ("batprotocol/builder", "tests/builder"),
    "recordings": ("batprotocol/recordings", "tests/recordings"),
    "conversation": ("batprotocol/conversation", "tests/conversation"),
    "edc": ("batprotocol/edc", "tests/edc"),
    "entities": ("batprotocol/campaigns/entities", "tests/campaigns"),
    "managers": ("batprotocol/campaigns/managers", "tests/campaigns"),
    "fast": ("batprotocol/fast", "tests/fast"),
    "gym": ("batprotocol/gym", "tests/gym"),
    "legacy": ("batprotocol/legacy", "tests/legacy"),
    "model": ("batprotocol/model", "tests/model"),
    "nodes": ("batprotocol/fast/runtime", "tests/fast"),
    "policies": ("batprotocol/policies", "tests/policies"),
    "slurm-policy": ("batprotocol/policies/slurm", "tests/policies/slurm"),
    "slurm": ("batprotocol/sites/slurm", "tests/sites/slurm"),
    "logs": ("batprotocol/sites/logs", "tests/sites/logs"),
    "results": ("batprotocol/results", "tests/results"),
    "schemas": ("batprotocol/schemas", "tests/schemas"),
    "simulator": ("batprotocol/simulator", "tests/simulator"),
    "studies": ("batprotocol/studies", "tests/studies"),
    "testing": ("batprotocol/testing", "tests/testing"),
    "translate": ("batprotocol/legacy/translate", "tests/legacy"),
    "wire": ("batprotocol/wire", "tests/wire"),
    "wire-commands": ("batprotocol/wire/commands", "tests/cli"),
    "reflection": ("batprotocol/wire/reflection.py", "tests/schemas"),
    "flexbuffers": ("batprotocol/wire/flexbuffers.py", "tests/schemas"),
    "workloads": ("batprotocol/workloads", "tests/workloads"),
}
"""The code of each package, and the tests that must notice a change of it."""

QUICK = ("-m", "not slow", "--hypothesis-profile=quick")
WHOLE = ()
"""The options for the quick tests of a package, and for all tests except those that take minutes."""

MEMORY = 6 << 30
"""The bytes that the tests of a mutant may take, as a changed loop can go on and on. It is not the addresses that
are bounded, of which a browser reserves far more than it takes."""

UNCHANGING = {
    "core/RemoveDecorator",  # mostly @property and @dataclass: the package would not even be imported
    "core/VariableInserter",
    "core/VariableReplacer",
}
"""Operators of cosmic-ray that are not used."""


class Mutant(NamedTuple):
    """One change: a place of a module, the operator of cosmic-ray that changes it, and the number of the occurrence."""

    package: str
    module: str
    operator: str
    occurrence: int
    line: int


class Outcome(NamedTuple):
    """The result of a mutant: "killed", "survived" or "time-out" (which counts as noticed), and its difference."""

    mutant: Mutant
    fate: str
    difference: str
    seconds: float


def modules_of(package: str) -> list[Path]:
    """The modules of a package, in order."""
    path = ROOT / PACKAGES[package][0]
    if not path.is_dir():
        return [path.with_suffix(".py")]
    others = [ROOT / folder for each, (folder, _) in PACKAGES.items() if each != package and (ROOT / folder) != path]
    inner = [folder for folder in others if folder.is_relative_to(path)]
    return sorted(each for each in path.rglob("*.py") if not any(map(each.is_relative_to, inner)))


def unread_spans(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The places where a change has no effect: annotations, which are never evaluated."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                end = (annotation.end_lineno or 0, annotation.end_col_offset or 0)
                spans.append(((annotation.lineno, annotation.col_offset), end))
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            spans.append(((node.lineno, 0), (node.end_lineno or 0, node.end_col_offset or 0)))
    return spans


def places(package: str) -> Iterator[list[Mutant]]:
    """The places of a package that can be changed, each with its mutants."""
    from cosmic_ray.commands.init import init
    from cosmic_ray.work_db import WorkDB

    for module in modules_of(package):
        source = module.read_text(encoding="utf-8")
        spans = unread_spans(source)
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
            if item.operator_name == "core/ExceptionReplacer":
                # It cannot replace a name with a dot, such as `except (msgspec.DecodeError, ...)`.
                line = source.splitlines()[start[0] - 1]
                if not line[start[1] : item.end_pos[1]].isidentifier():
                    continue
            name = str(module.relative_to(ROOT))
            found[start].append(Mutant(package, name, item.operator_name, item.occurrence, start[0]))
        yield from (found[start] for start in sorted(found))


def drawn(packages: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw this number of mutants, each at another place, evenly from all places."""
    chance = random.Random(seed)
    candidates = [mutants for package in packages for mutants in places(package)]
    return [chance.choice(mutants) for mutants in chance.sample(candidates, min(count, len(candidates)))]


def copied_tree(folder: Path) -> Path:
    """A copy of the tree with everything that the tests need, with the compiled engine and the recordings."""
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


EXAMPLES = (
    "import doctest, importlib, sys; import batprotocol; module = importlib.import_module(sys.argv[1]);"
    "sys.exit(doctest.testmod(module, globs=vars(batprotocol) | vars(module)).failed > 0)"
)
"""The program that runs the examples in the docstrings of a module."""


def examples_of(module: str, copy: Path, timeout: float) -> tuple[str, float]:
    """Run the examples in the docstrings of a module, if it has some, as `tests_of` runs tests."""
    if ">>> " not in (copy / module).read_text(encoding="utf-8"):
        return "survived", 0.0
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return ended_of([sys.executable, "-c", EXAMPLES, name], copy, timeout)


def tests_of(package: str, which: Sequence[str], copy: Path, timeout: float | None) -> tuple[str, float]:
    """Run tests of a package until one fails: "killed", "survived" or "time-out", and the seconds until then."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *which, PACKAGES[package][1]]
    return ended_of(command, copy, timeout)


def ended_of(command: Sequence[str], copy: Path, timeout: float | None) -> tuple[str, float]:
    """Run a command in a copy of the tree: "killed" if it fails, "survived" or "time-out", and the seconds it took."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "BATPROTOCOL_TEST_PATIENCE": "20"}
    # Bytecode of the unchanged modules is kept. That of changed modules is not written.
    environment |= {"PYTHONDONTWRITEBYTECODE": "" if timeout is None else "1"}
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    if sys.platform == "linux":
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
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

    with use_mutation(copy / mutant.module, get_operator(mutant.operator)(), mutant.occurrence) as (before, after):
        lines = difflib.unified_diff(before.splitlines(), (after or "").splitlines(), n=0, lineterm="")
        difference = "\n".join(line for line in lines if line[:2] not in ("--", "++", "@@"))
        fate, taken = examples_of(mutant.module, copy, max(timeouts.values()))
        for which, timeout in timeouts.items():
            if fate != "survived":
                break
            fate, seconds = tests_of(mutant.package, which, copy, timeout)
            taken += seconds
    return Outcome(mutant, fate, difference, taken)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mutants, try them, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES), help="default: all")
    parser.add_argument("--rooms", nargs="+", choices=PACKAGES, dest="packages", help=argparse.SUPPRESS)  # its old name
    parser.add_argument("--mutants", type=int, default=200, metavar="N", help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--only", nargs="+", type=int, metavar="N", help="of these, only those with these numbers")
    parser.add_argument(
        "--whole", action="store_true", help="run all tests of a package on what the quick ones do not notice"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at once")
    options = parser.parse_args(arguments)
    chosen = dict(enumerate(drawn(options.packages, options.mutants, options.seed), 1))
    if options.only:
        chosen = {number: chosen[number] for number in options.only}
    packages = [name for name in options.packages if any(mutant.package == name for mutant in chosen.values())]
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(copied_tree(Path(folder) / str(number)))
        timeouts: dict[str, dict[Sequence[str], float]] = defaultdict(dict)
        for package, which in itertools.product(packages, (QUICK, WHOLE) if options.whole else (QUICK,)):
            for _ in range(options.jobs):
                copy = copies.get()
                fate, usual = tests_of(package, which, copy, None)
                copies.put(copy)
            timeouts[package][which] = 3 * usual + 20
            print(f"{package}: its {'quick ' * (which == QUICK)}tests take {usual:.0f} s", flush=True)
            if fate != "survived":
                print(f"the tests in {PACKAGES[package][1]} fail before anything is changed", file=sys.stderr)
                return 2

        def work(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                return tried(mutant, copy, timeouts[mutant.package])
            finally:
                copies.put(copy)

        for number, outcome in zip(chosen, pool.map(work, chosen.values()), strict=True):
            outcomes.append(outcome)
            place = f"{outcome.mutant.module}:{outcome.mutant.line}"
            operator = outcome.mutant.operator.removeprefix("core/")
            print(f"{number:3} {outcome.fate:9} {outcome.seconds:5.1f} s {place} {operator}", flush=True)
            if outcome.fate == "survived":
                print(outcome.difference, flush=True)
    for package in packages:
        own = [outcome for outcome in outcomes if outcome.mutant.package == package]
        noticed = sum(outcome.fate != "survived" for outcome in own)
        print(f"{package}: {noticed} of {len(own)} noticed")
    noticed = sum(outcome.fate != "survived" for outcome in outcomes)
    print(f"{noticed} of {len(outcomes)} noticed ({noticed / max(1, len(outcomes)):.1%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
