"""Pages of the handbook, run as their readers would: each block of code in its order, in an empty folder.

    ```sh           run by bash, which stops at the first command that fails; the page's programs are on the PATH
    ```console      with `$ ` before commands: each is run, and prints the lines below it; without: what was
                    printed by the block before
    ```text         the same as console without commands
    ```python       run, all of a page in one namespace, with the page's folder among those of modules
    ```diff         a change of the file that a comment names: what its lines with ` ` and `-` say gives way to what
                    those with ` ` and `+` do
    ```json, toml,  read by a parser of that language; so is a file of that name
       yaml, xml

A comment above a block says what cannot be seen:

    <!-- file: NAME -->         the block is the content of that file, and is not run
    <!-- exit: 1 -->            the exit status of the last command of the block
    <!-- needs: mosquitto -->   from here on, the page needs this program, or the rest is skipped (`servers.PROGRAMS`)
    <!-- server: slurm -->      while the page is run, there is a real Slurm, see `slurms`: skipped where it is missing
    <!-- terminal: NAME -->     the block goes on while the next ones run, as in a terminal of its own, until the page
                                ends; ```text with this comment is what it has printed when it has ended by itself
    <!-- ready: TEXT -->        the block that goes on is waited for until it has printed this
    <!-- port: 28000 -->        wherever the page says this number, it is a free port; a block that goes on is waited
                                for until it listens there
    <!-- after: PAGE -->        the page goes on where that one ended: it has its files
    <!-- ci: test -->           the block starts all tests, this one among them: `.ci/run` runs it

In what is printed, a line `...` stands for any lines, and `...` at the end of a line for its rest. `batsim` is the
embedded one (`handbook_programs/`), environments that a page makes are that of the tests, and `pip install` checks that
the extras it names exist.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import servers
import slurms
import yaml
from servers import free_port
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["DOCS", "Block", "blocks", "comments", "run_page"]

DOCS = ROOT / "docs"
PROGRAMS = ROOT / "tests" / "handbook_programs"
PATIENCE_SECONDS = 60

_FENCE = re.compile(
    r"(?P<comments>(?:^<!-- [^\n]*? -->\n+)*)^(?P<ticks>```+)(?P<language>[\w+-]*)\n(?P<text>.*?)^(?P=ticks)$",
    re.M | re.S,
)
_COMMENT = re.compile(r"<!-- (\w+): (.*?) -->")


class Block(NamedTuple):
    """A block of code on a page, with the comments above it and its line."""

    language: str
    text: str
    said: dict[str, str]
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in their order."""
    content = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(content):
        said = dict(_COMMENT.findall(fence["comments"]))
        yield Block(fence["language"], fence["text"], said, content.count("\n", 0, fence.start("ticks")) + 1)


def comments(page: Path) -> list[tuple[str, str, int]]:
    """The comments of a page, with their lines."""
    content = page.read_text(encoding="utf-8")
    return [(found[1], found[2], content.count("\n", 0, found.start()) + 1) for found in _COMMENT.finditer(content)]


class _Story:
    """What goes on while a page is run."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "handbook"}
        self.printed = ""
        self.terminals: dict[str, _Terminal] = {}
        self.ports = {value: free_port() for name, value, _ in comments(page) if name == "port"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")},
            "PATH": os.pathsep.join([str(PROGRAMS), str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"]),
            "PYTHONPATH": os.pathsep.join([str(ROOT)]),
            "HANDBOOK_PYTHON": sys.executable,
            "PYTHONUTF8": "1",
            "COLUMNS": "100",
            "HOME": str(folder),
            "TMPDIR": str(folder),
        }

    def run(self, block: Block) -> None:
        """Run a block, and look at what came of it."""
        block = block._replace(text=self.with_ports(block.text))
        if block.said.get("ci") == "test":
            return
        if "file" in block.said:
            write(block, self.folder)
            self.parse(block)
            return
        name = block.said.get("terminal")
        match block.language:
            case "sh" if name:
                if name in self.terminals:  # it is free when what ran there has ended
                    self.terminals.pop(name).end()
                self.terminals[name] = self.start(block.text, int(block.said.get("exit", "0")))
                if "port" in block.said:
                    self.terminals[name].wait_for_port(self.ports[block.said["port"]])
                if "ready" in block.said:
                    self.terminals[name].wait_for_text(block.said["ready"])
            case "text" if name:
                assert_printed(self.terminals.pop(name).end(), block.text)
            case "sh":
                self.command(block.text, int(block.said.get("exit", "0")))
            case "console" if re.search(r"^\$ ", block.text, re.M):
                self.session(block)
            case "console" | "text":
                assert_printed(self.printed, block.text)
            case "python":
                self.python(block)
            case _:
                self.parse(block)

    def parse(self, block: Block) -> None:
        match block.language:
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
            case "yaml":
                yaml.safe_load(block.text)
            case "xml":
                ElementTree.fromstring(block.text)
            case "python":
                compile(block.text, block.said["file"], "exec")
            case "diff":
                assert "file" in block.said, "a ```diff names the file that it changes"
            case _:
                assert "file" in block.said, (
                    f"nobody knows how to run ```{block.language}: give it a file, or a language"
                )

    def session(self, block: Block) -> None:
        """Commands behind `$ `, each with what it prints."""
        parts = re.split(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n", block.text, flags=re.M)
        assert not parts[0].strip(), "a console begins with a command"
        statuses = ["0"] * (len(parts) // 2 - 1) + [block.said.get("exit", "0")]
        for command, shown, status in zip(parts[1::2], parts[2::2], statuses, strict=True):
            self.command(command, int(status))
            assert_printed(self.printed, shown)

    def with_ports(self, text: str) -> str:
        for said, port in self.ports.items():
            text = re.sub(rf"\b{said}\b", str(port), text)
        return text

    def start(self, text: str, status: int) -> _Terminal:
        return _Terminal(text, status, self.folder, self.environment)

    def command(self, text: str, status: int) -> None:
        self.printed = self.start(text, status).end()

    def end(self) -> None:
        """End what still goes on, as Ctrl-C does; what has ended by itself before must have ended well."""
        for terminal in self.terminals.values():
            if terminal.process.poll() is None:
                terminal.interrupt()
            else:
                terminal.end()

    def python(self, block: Block) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, str(self.page), "exec"), self.names)
        self.printed = printed.getvalue()


def write(block: Block, folder: Path) -> None:
    """Write the file that a block is the content of, or change it as the block says."""
    path = folder / block.said["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    content = block.text
    if block.language == "diff":
        lines = [(line[:1] or " ", line[1:] + "\n") for line in block.text.splitlines()]
        old, new = ("".join(text for sign, text in lines if sign in signs) for signs in (" -", " +"))
        before = path.read_text(encoding="utf-8")
        assert before.count(old) == 1, f"{path.name} has these lines {before.count(old)} times:\n{old}"
        content = before.replace(old, new)
    path.write_text(content, encoding="utf-8")
    if path.suffix == ".py" and path.parent == folder:
        sys.modules.pop(path.stem, None)  # another test of this process may have loaded a file of this name


class _Terminal:
    """Commands that run, with the exit status that they should have. What they start ends with them."""

    def __init__(self, text: str, status: int, folder: Path, environment: dict[str, str]) -> None:
        self.text, self.status = text, status
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".printed-", delete=False) as output:
            self.output = Path(output.name)
            self.process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", text],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=folder,
                env=environment,
            )

    def wait_for_port(self, port: int) -> None:
        """Wait until somebody listens there."""
        for _ in self.patiently(f"nobody listens at {port}"):
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                return

    def wait_for_text(self, text: str) -> None:
        """Wait until this is printed."""
        for _ in self.patiently(f"{text!r} is not printed"):
            if text in self.output.read_text(encoding="utf-8"):
                return

    def patiently(self, otherwise: str) -> Iterator[None]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            yield
            time.sleep(0.02)
        raise AssertionError(f"{otherwise}: {self.kill()}")

    def end(self) -> str:
        """Wait until they have ended: what they have printed. Their status must be the one that the page tells."""
        try:
            status = self.process.wait(PATIENCE_SECONDS)
        finally:
            printed = self.kill()
        if status == 128 + signal.SIGPIPE and "| head" in self.text:  # who has seen enough does not wait for the rest
            status = 0
        assert status == self.status, f"exit status {status} of\n{self.text}\n{printed}"
        return printed

    def interrupt(self) -> None:
        """Do what Ctrl-C does, and wait for the end."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.kill()

    def kill(self) -> str:
        """End all that is left; what was printed."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return self.output.read_text(encoding="utf-8")


def assert_printed(printed: str, shown: str) -> None:
    """That a page shows what was printed."""
    pattern = "".join(_line(line) for line in shown.rstrip("\n").splitlines())
    assert re.fullmatch(pattern + r"\n*", printed if printed.endswith("\n") else printed + "\n"), (
        f"shown:\n{shown}\nprinted:\n{printed}"
    )


def _line(shown: str) -> str:
    if shown.strip() == "...":
        return r"(?:[^\n]*\n)*?"
    if shown.endswith("..."):
        return re.escape(shown[:-3]) + r"[^\n]*\n"
    return re.escape(shown) + r"[ ]*\n"


def _stories(page: Path) -> Iterator[Path]:
    """The pages whose files a page has, and the page itself."""
    for name, value, _ in comments(page):
        if name == "after":
            yield from _stories((page.parent / value).resolve())
    yield page


def run_page(page: Path, folder: Path) -> int:
    """Run all blocks of a page in an empty folder; how many there were. AssertionError tells which is wrong."""
    with contextlib.ExitStack() as stack:
        if ("server", "slurm") in [(name, value) for name, value, _ in comments(page)]:
            stack.enter_context(slurms.running_slurm())
        return _run_page(page, folder)


def _run_page(page: Path, folder: Path) -> int:
    *before, _ = _stories(page)
    for earlier in before:
        for block in blocks(earlier):
            if "file" in block.said:
                write(block, folder)
    if not (folder / "examples").exists():
        shutil.copytree(ROOT / "examples", folder / "examples")
    story, number = _Story(page, folder), 0
    needed = [(line, value) for name, value, line in comments(page) if name == "needs"]
    here = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    known = set(sys.modules)
    try:
        for block in blocks(page):
            while needed and needed[0][0] < block.line:
                servers.find(needed.pop(0)[1])
            try:
                story.run(block)
                number += 1
            except Exception as error:
                raise AssertionError(f"{page}:{block.line}: {type(error).__name__}: {error}") from error
        story.end()
    finally:
        for terminal in story.terminals.values():
            terminal.kill()
        os.chdir(here)
        sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
    return number
