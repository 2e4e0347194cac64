"""What the project says of itself is the same in all files, and nothing of others runs that is not pinned."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from repeatable import differences, normalise

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WITHOUT_ENGINE = True

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = {re.split(r"[<>=;! ]", each)[0]: each for each in PROJECT["dependencies"]}
"""What a plain installation needs, by name."""

PACKAGING = ROOT / "packaging"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOCKED = sorted((ROOT / ".github" / "requirements").glob("*.txt"))
CONDA = {"flatbuffers": "python-flatbuffers", "mypy-extensions": "mypy_extensions"}
"""The names of conda-forge that differ from those of PyPI."""


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CITATION.cff", r"(?m)^version: (.+)$"),
        ("packaging/conda/recipe.yaml", r'(?m)^  version: "(.+)"$'),
        ("packaging/nix/package.nix", r'pname = "batprotocol";\s+version = "(.+)";'),
        ("packaging/guix/batprotocol.scm", r'\(name "python-batprotocol"\)\s+\(version "(.+)"\)'),
    ],
)
def test_the_version_is_the_same(path: str, pattern: str) -> None:
    assert re.findall(pattern, text_of(path)) == [PROJECT["version"]], f"write {PROJECT['version']} in {path}"


def test_conda_needs_the_same() -> None:
    run = yaml.safe_load(text_of("packaging/conda/recipe.yaml"))["requirements"]["run"]
    found = {each if isinstance(each, str) else each["then"] for each in run}
    wanted = {re.sub(r";.*", "", each) for each in NEEDED.values()}
    wanted = {re.sub(r"^([\w-]+)", lambda name: f"{CONDA.get(name[1], name[1])} ", each) for each in wanted}
    assert found == {"python", *wanted}


def test_nix_needs_the_same() -> None:
    text = text_of("packaging/nix/package.nix").partition('pname = "batprotocol"')[2]
    first = re.search(r"  dependencies = \[([^]]+)\]", text)
    more = re.search(r'pythonOlder "3.11"\) \[([^]]+)\]', text)
    assert first
    assert more
    assert {*first[1].split(), *more[1].split()} == set(NEEDED)


def test_guix_needs_the_same() -> None:
    """Its Pythons are newer than those that need tomli."""
    text = text_of("packaging/guix/batprotocol.scm").partition('(name "python-batprotocol")')[2]
    found = re.search(r"\(propagated-inputs\s+\(list ([^)]+)\)\)", text)
    assert found
    assert {f"python-{name}" for name in NEEDED if name != "tomli"} == set(found[1].split())


def test_the_licence_and_the_authors_are_the_same() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["license"] == PROJECT["license"]
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]


def actions() -> list[tuple[str, str]]:
    """The actions that the workflows use, with the comment behind each."""
    found = []
    for path in WORKFLOWS:
        found += re.findall(r"uses: (?!\./)(\S+)(.*)", path.read_text(encoding="utf-8"))
    return found


def test_actions_are_pinned_by_hash() -> None:
    used = actions()
    assert len(used) > 10
    for action, comment in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action}: write the version behind it"
    for name in {action.partition("@")[0] for action, _ in used}:
        assert len({each for each in used if each[0].startswith(f"{name}@")}) == 1, f"{name} has several versions"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_few_rights(path: Path) -> None:
    """None by default; no job runs without an end, and none but those that upload has a token."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 180, name
        rights = {right for right, value in job.get("permissions", {}).items() if value == "write"}
        assert rights <= {"id-token", "attestations", "pages"}
        if "id-token" in rights:  # nothing that others have written runs beside the token
            assert all("run" not in step for step in job["steps"]), name


def test_what_is_locked_has_hashes() -> None:
    assert {path.stem for path in LOCKED} == {"audit", "checks", "citation", "release", "wheels"}
    for path in LOCKED:
        lines = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8")).splitlines()
        packages = [line for line in lines if line and not line.startswith("#")]
        assert packages
        assert all(re.match(r"[\w.-]+==\S+", line) and "--hash=sha256:" in line for line in packages), path.name
        wanted = path.with_suffix(".in").read_text().split()
        assert set(wanted) <= {line.partition("==")[0] for line in packages}
    installs = [
        line
        for path in (*WORKFLOWS, ROOT / ".ci" / "run")
        for line in path.read_text(encoding="utf-8").splitlines()
        if ".github/requirements/" in line
    ]
    assert installs
    assert all("--require-hashes" in line for line in installs), installs


def test_each_package_has_a_lowest_version() -> None:
    """Else a resolver of lowest versions takes the first one that was ever published."""
    from versions import required

    assert not [each.name for each in required() if not each.lowest]
    assert len(required()) > 40


def test_the_wheels_are_those_of_all_pythons() -> None:
    built = tomllib.loads(text_of("pyproject.toml"))["tool"]["cibuildwheel"]["build"].split()
    names = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    assert {f"cp{name.replace('.', '')}-*" for name in names} | {"cp314t-*"} == set(built)


def test_commits_are_checked_as_ci_checks_them() -> None:
    """Each hook runs a step of `tools/check.py`, or the tests of this file."""
    from check import STILL

    (repo,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    steps = [" ".join(step) for step in STILL.values()]
    for hook in repo["hooks"]:
        words = hook["entry"].removeprefix("python ").removesuffix(" --force-exclude")
        assert any(step.startswith(words) for step in steps) or words.endswith(
            ("tools/check.py", "tests/house/test_project.py")
        ), words


def test_archives_are_made_equal(tmp_path: Path) -> None:
    """Whoever packs the same files, whenever: the owner, the order and the times do not matter."""
    for name, order, time in (("one", ("b", "a"), "1000"), ("other", ("a", "b"), "2000")):
        folder = tmp_path / name / "p-1"
        folder.mkdir(parents=True)
        for each in order:
            (folder / each).write_text(f"content of {each}")
        (folder / "a").chmod(0o700 if name == "one" else 0o755)
        command = ["tar", "czf", str(tmp_path / f"{name}.tar.gz"), f"--mtime=@{time}", f"--owner={name}:{time}"]
        subprocess.run([*command, *(f"p-1/{each}" for each in order)], cwd=tmp_path / name, check=True)
    one, other = tmp_path / "one.tar.gz", tmp_path / "other.tar.gz"
    assert differences(one, other)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOURCE_DATE_EPOCH", "1790000000")
        normalise(one)
        normalise(other)
    assert one.read_bytes() == other.read_bytes()
    assert differences(one, other) == []


def test_differences_of_wheels_are_named(tmp_path: Path) -> None:
    for name, content in (("one", "1"), ("other", "2")):
        with zipfile.ZipFile(tmp_path / f"{name}.whl", "w") as archive:
            archive.writestr("same.py", "")
            archive.writestr("changed.so", content)
            archive.writestr(f"only_{name}.py", "")
    found = differences(tmp_path / "one.whl", tmp_path / "other.whl")
    assert found == ["changed.so", "only_one.py", "only_other.py"]


def test_the_umask_of_the_builder_is_not_in_a_wheel(tmp_path: Path) -> None:
    for name, mode in (("one", 0o100600), ("other", 0o100664)):
        with zipfile.ZipFile(tmp_path / f"{name}.whl", "w") as archive:
            for file, more in (("p/a.py", 0), ("p/run", 0o111), ("p/c.so", 0)):
                member = zipfile.ZipInfo(file, (2026, 1, 2, 3, 4, 6))
                member.external_attr = (mode | more) << 16
                archive.writestr(member, file)
    assert differences(tmp_path / "one.whl", tmp_path / "other.whl") == ["(the archive itself)"]
    for name in ("one", "other"):
        normalise(tmp_path / f"{name}.whl")
    assert differences(tmp_path / "one.whl", tmp_path / "other.whl") == []
    with zipfile.ZipFile(tmp_path / "one.whl") as archive:
        modes = {member.filename: oct(member.external_attr >> 16) for member in archive.infolist()}
        assert archive.testzip() is None
        assert archive.read("p/a.py") == b"p/a.py"
    assert modes == {"p/a.py": "0o100644", "p/run": "0o100755", "p/c.so": "0o100755"}


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of the first table whose first row begins so, below its second line."""
    lines = text_of(page).partition(f"\n{first}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_figures_of_the_paper_are_those_of_the_handbook() -> None:
    """What the benches print is in the handbook; here, it is compared with the paper's sentences."""
    paper = " ".join(text_of("paper/paper.md").split())
    runs = rows("docs/explanation/simulation.md", "| kind of input")
    numbers = [[int(cell or 0) for cell in row[1:5]] for row in runs]
    assert all(row[0] == row[1] and row[2] == row[3] for row in numbers)
    assert f"In all {sum(row[0] for row in numbers):,} runs" in paper
    assert f"all {sum(row[2] for row in numbers):,} result files" in paper

    engines = "docs/explanation/engines.md"
    decode = [row for row in rows(engines, "| ns per event ") if "vectorial" not in row[0]]
    times = sorted(int(re.findall(r"\((\d+)x\)", row[2])[0]) for row in decode)
    assert f"{times[0]} to {times[-1]} times as fast" in paper
    beside = [float(row[3]) for row in rows(engines, "| ns per message") if "vectorial" not in row[0]]
    assert f"{min(beside):.2f} to {max(beside):.2f} times the time" in paper
    (turn,) = (row for row in rows(engines, "| µs of the processor") if row[0] == "FCFS, native engine")
    assert f"takes {turn[1]} µs of the processor over the socket, and {turn[2]} µs inside Batsim" in paper


def test_the_paper_refers_to_what_is_listed() -> None:
    cited = set(re.findall(r"@(\w+)\]", text_of("paper/paper.md")))
    listed = re.findall(r"(?m)^@\w+\{(\w+),", text_of("paper/paper.bib"))
    assert cited == set(listed)
    assert len(listed) == len(set(listed))
