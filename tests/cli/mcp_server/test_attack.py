"""Random calls of a real client over stdio, in a folder with links out of it, secrets around it, and a venv inside.

Nothing outside is read or written, no answer has a secret, and the limits hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import pytest
from replay import PATIENCE
from support import DATA, ROOT

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

WITHOUT_ENGINE = True

SECONDS = 20.0
CHARACTERS = 5000
RUNS = 6
ENVIRONMENT, OUTSIDE, INSIDE = "Qz7environment", "Qz7outside", "Qz7inside"
SECRETS = (ENVIRONMENT, OUTSIDE, INSIDE, "Qz7", "root:x:0", "7349182650")
"""In the environment of the server, in files outside, in files of the folder that are not inputs; and their like."""
RUN = "run.tar.xz"


def laid_out(place: Path) -> tuple[Path, Path, Path]:
    """A folder for work with `experiments` in it, which is served; what lies outside; and the interpreter inside."""
    work, outside = place / "work", place / "outside"
    folder = work / "experiments"
    folder.mkdir(parents=True)
    outside.mkdir()
    texts = {
        "secret.env": "API_KEY={0}\nPIN=7349182650\n",
        "secret.swf": "; {0}\n{0} 1 2 3\n1 {0} 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 7349182650\n",
        "secret.json": '{{"token": "{0}", "pin": 7349182650, "jobs": [{{"id": "{0}", "res": "{0}"}}]}}',
        "secret.toml": 'token = "{0}"\nscheduler = ["{0}"]\nworkload = "{0}"\nseed = 7349182650\n',
        "secret.xml": "<platform version='4.1'><{0} id='{0}'/></platform>",
        "secret.csv": "{0},job_id\n7349182650,{0}\n",
        "secret.bin": "{0}",
        "secret.pem": "-----BEGIN PRIVATE KEY-----\n{0}\n",
    }
    for each, secret in (
        (folder, INSIDE),
        (outside, OUTSIDE),
        (work, OUTSIDE),
        (place / "work" / "experiments-other", OUTSIDE),
    ):
        each.mkdir(exist_ok=True)
        for name, text in texts.items():
            (each / name).write_text(text.format(secret))
        (each / "evil.py").write_text(f"import os\nos.close(os.open({str(outside / 'ran')!r}, os.O_CREAT))\n")
    shutil.copy(sorted((DATA / "runs").glob("*.tar.xz"))[0], folder / RUN)
    (folder / "study.toml").write_text('scheduler = ["fcfs", "easy"]\nworkload = "lublin:8?jobs=5"\n')
    for name in texts:
        (folder / f"link-{name}").symlink_to(outside / name)
    (folder / "linked").symlink_to(outside)
    (folder / "up").symlink_to("..")
    (folder / "process").symlink_to("/proc/self")
    (folder / "results").symlink_to(outside)
    environment = folder / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    shutil.copytree(ROOT / "batprotocol", packages / "batprotocol")
    shutil.copytree(ROOT / "generated" / "_schema", packages / "batprotocol" / "_schema")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return work, outside, environment / "bin" / "python"


def state(*places: Path) -> dict[str, str]:
    """Everything beneath some folders, with a digest of each file."""
    found = {}
    for place in places:
        for path in (place, *sorted(place.rglob("*"))):
            whole = path.is_file() and not path.is_symlink()
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if whole else os.path.lexists(path)
    return {name: str(value) for name, value in found.items()}


def random_calls(seed: int, count: int, outside: Path) -> list[tuple[str, dict[str, Any]]]:
    draw = random.Random(seed)
    stems = [f"secret.{ending}" for ending in ("env", "swf", "json", "toml", "xml", "csv", "bin", "pem")]
    files = [
        *(
            prefix + stem
            for stem in stems
            for prefix in ("", "link-", "linked/", "up/", "../", f"{outside}/", "../outside/")
        ),
        *("process/environ", "/proc/self/environ", "/proc/1/environ", f"/proc/{os.getpid()}/environ", "/proc/self/mem"),
        *("/etc/passwd", "/dev/stdin", "/dev/zero", "-", "", ".", "..", "/", "linked", "up", "~", "results"),
        *(".venv/pyvenv.cfg", ".venv/bin/python", "evil.py", "up/experiments/secret.env", "a\nb", "a\0b"),
        *(
            "--",
            "--help",
            f"--output={outside}/x",
            f"$(touch {outside}/run)",
            f"; touch {outside}/run",
            f"|touch {outside}/run",
        ),
        *("\x1b[31mred", "%s%n", "{}", "~/.ssh", "tcp://127.0.0.1:1", "é" * 900),
        *(RUN, "study.toml", "nothing.swf", "x" * 900, f"file://{outside}/secret.swf", "http://127.0.0.1:1/x"),
    ]
    policies = [
        "fcfs",
        "easy",
        "easy-sjf",
        "evil.py:Evil",
        "json:load",
        "os:system",
        "slurm:secret.toml",
        "slurm:linked/secret.toml",
    ]
    policies += [
        f"easy+site={outside}/secret.toml",
        "easy+site=secret.toml",
        "easy+trace=secret.csv",
        f"{outside}/evil.py:Evil",
    ]
    workloads = [
        "lublin:8?jobs=5",
        "secret.swf",
        f"{outside}/secret.swf?jobs=0-9",
        "lublin:99999999999?jobs=9",
        "lublin:8?jobs=99999999",
    ]

    def one(*choices: Any) -> Any:
        return draw.choice(choices)

    def file() -> str:
        return draw.choice(files)

    def study() -> str:
        keys: dict[str, Any] = {"scheduler": one(["fcfs"], ["fcfs", "easy"], draw.choice(policies), file())}
        for name, values in (
            ("workload", [*workloads, file()]),
            ("platform", [file()]),
            ("events", [file()]),
            ("metrics", [["evil.py:count"], [f"{outside}/evil.py:count"], file()]),
            ("name", ["../outside/x", "x", file()]),
            ("seed", ["0-2", "0-99999", "0-999999999", 7]),
            ("memory", ["64GB", "1MB", 0]),
            ("timeout", [1e9, 0.001]),
            ("init", [file(), "{seed}"]),
            ("carbon", [file()]),
            ("failures", [file()]),
        ):
            if draw.random() < 0.3:
                keys[name] = draw.choice(values)
        return "\n".join(f"{name} = {json.dumps(value)}" for name, value in keys.items())

    def call() -> tuple[str, dict[str, Any]]:
        tool = draw.choice(
            ["dump", "check", "at", "simulate", "simulate", "study", "study", "rules", "schema", "metrics"]
        )
        given: dict[str, Any] = {}
        if tool in ("dump", "check", "at"):
            given["file"] = file()
            given |= {"seconds": draw.choice([0, 1.5, 1e9])} if tool == "at" else {}
            given |= {"full": True, "as_json": draw.random() < 0.5} if tool == "dump" else {}
            given |= {"rules": file()} if tool == "check" and draw.random() < 0.2 else {}
        elif tool == "simulate":
            given["policy"] = one(draw.choice(policies), "fcfs")
            given["workloads"] = [one(draw.choice(workloads), file(), f"{file()}?jobs=0-9")]
            for name, values in (
                ("platform", [file()]),
                ("hosts", [file(), "n[0-7] cores=4"]),
                ("events", [[file()]]),
                (
                    "output",
                    [
                        "out",
                        "results",
                        "linked/new",
                        "up/new",
                        f"{outside}/new",
                        ".venv/lib",
                        "../new",
                        "process/cwd/../new",
                    ],
                ),
            ):
                if draw.random() < 0.4:
                    given[name] = draw.choice(values)
        elif tool == "study":
            given[one("toml", "toml", "file")] = ""
            given = {name: study() if name == "toml" else file() for name in given}
            given |= {"metrics": [file()]} if draw.random() < 0.1 else {}
            given |= {"baseline": file()} if draw.random() < 0.1 else {}
            given |= {"only": [one(file(), "seed=0", "scheduler=fcfs", "x=y")]} if draw.random() < 0.2 else {}
        elif tool in ("rules", "schema") and draw.random() < 0.8:
            given["rule" if tool == "rules" else "name"] = file()
        if draw.random() < 0.05:
            given[draw.choice(sorted(given) or ["file"])] = draw.choice(
                [None, 0, -1, 1e308, True, [], {}, ["x"] * 100, {"a": []}]
            )
        return tool, given

    return [call() for _ in range(count)]


@pytest.mark.parametrize(
    "count", [pytest.param(150, marks=pytest.mark.long), pytest.param(500, marks=pytest.mark.minutes)]
)
def test_random_calls_reach_nothing_outside_and_tell_no_secret(tmp_path: Path, count: int) -> None:
    work, outside, python = laid_out(tmp_path)
    folder = work / "experiments"
    fixed = [outside, folder / ".venv", work / "experiments-other", *(work / name for name in os.listdir(outside))]
    before, names = state(*fixed), sorted(os.listdir(work)) + sorted(os.listdir(tmp_path))
    calls = random_calls(53, count, outside)
    failures = 0
    program = mcp.StdioServerParameters(
        command=str(python),
        args=[
            *("-m", "batprotocol", "mcp", "experiments", "--timeout", f"{SECONDS:g}", "--memory", "1024"),
            *("--characters", str(CHARACTERS), "--runs", str(RUNS)),
        ],
        cwd=work,
        env={"PASSWORD": ENVIRONMENT, "TMPDIR": str(work), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    async def acts() -> None:
        with open(tmp_path / "errors", "w") as errors:
            async with mcp.Client(mcp.stdio_client(program, errlog=errors)) as client:

                async def one(tool: str, given: dict[str, Any]) -> None:
                    nonlocal failures
                    began = time.monotonic()
                    answer = await client.call_tool(tool, given)
                    took = time.monotonic() - began
                    failures += bool(answer.is_error)
                    text = "\n".join(each.text for each in answer.content)
                    for secret in SECRETS:
                        assert secret not in text, (tool, given, text)
                    assert "Traceback" not in text, (tool, given, text)
                    assert "fault of batproto" not in text, (tool, given, text)
                    assert len(text) < 2.2 * CHARACTERS
                    assert took < SECONDS + PATIENCE, (tool, given, took)

                for start in range(0, len(calls), 2):
                    async with anyio.create_task_group() as group:
                        for tool, given in calls[start : start + 2]:
                            group.start_soon(one, tool, given)

    anyio.run(acts)
    assert state(*fixed) == before
    assert sorted(os.listdir(work)) + sorted(set(os.listdir(tmp_path)) - {"errors"}) == names
    assert count / 4 < failures < count
    for runs in folder.glob("*.runs"):
        assert len(list((runs / "runs").glob("*"))) <= RUNS
