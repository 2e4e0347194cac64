"""`batproto conformance`: it prints the mistakes of a decision component that `batprotocol.testing.conformance` finds.

It makes a target from the arguments, prints the finding, and leaves no process behind when a signal ends it.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from batprotocol._util.files import naming, reason_of
from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.edc.commands.scheduler import is_policy, load, telling_whose_fault
from batprotocol.errors import ClusterError, PackageMissing, StudyError
from batprotocol.policies.names import is_name
from batprotocol.wire.commands.dump import print_frames

try:
    from batprotocol.testing.conformance import (
        MOST_SHOWN,
        CannotRun,
        Command,
        Endpoint,
        Finding,
        InProcess,
        Library,
        Report,
        Target,
        encoded,
        explained,
        find,
        github,
        gitlab,
        junit,
        save,
    )
except ImportError as error:
    raise click.UsageError(str(error)) from None

__all__ = ["run", "target_of", "where"]

CANNOT_RUN = 2
TERMINATED = 128 + signal.SIGTERM


class _Terminated(KeyboardInterrupt):
    """SIGTERM has come. Nobody takes a KeyboardInterrupt for a fault of the tested component."""


def target_of(command: Sequence[str], endpoint: str | None, library: str | None) -> Target:
    """The decision component to test. ValueError if the arguments do not name one."""
    if library is not None:
        if command or endpoint is not None:
            raise ValueError("--library excludes a command and an endpoint: leave them out")
        if not os.path.isfile(library):
            raise ValueError(f"there is no file {library!r}")
        return Library(library)
    if len(command) == 1 and endpoint is None and _is_scheduler(command[0]):
        logging.basicConfig(level=logging.CRITICAL)
        with telling_whose_fault(command[0]):
            return InProcess(load(command[0]))
        raise click.exceptions.Exit(CANNOT_RUN)  # the reason was printed
    if command:
        return Command(command, endpoint)
    if endpoint is None:
        raise ValueError("expected FILE:CLASS, POLICY, -- COMMAND, --endpoint or --library")
    return Endpoint(endpoint)


def _is_scheduler(word: str) -> bool:
    """Whether this is FILE:CLASS or a policy, misspelt or not, and not a program."""
    return ".py:" in word or is_name(word) or (is_policy(word) and shutil.which(word) is None)


def where(
    command: Sequence[str],
    endpoint: str | None,
    library: str | None,
    *,
    processes: int | None,
    slurm: str | None,
    wheels: str | None,
    dask: str | None,
) -> dict[str, Any]:
    """Arguments of `find_on`: the decision component, and the place of the simulations. Empty if that is this process.

    Raises:
        ValueError: the arguments exclude one another.
    """
    if wheels is not None and slurm is None:
        raise ValueError("--wheels is for nodes of Slurm: give --slurm, too")
    if slurm is not None and dask is not None:
        raise ValueError("give one of --slurm and --dask")
    if processes is not None and dask is not None:
        raise ValueError("leave -j out with --dask, whose workers decide the number")
    if processes is None and slurm is None and dask is None:
        return {}
    if endpoint is not None:
        raise ValueError("one program at an --endpoint cannot play several simulations at a time: give its command")
    from batprotocol.studies.conformance import Tested

    in_python = len(command) == 1 and library is None and _is_scheduler(command[0])
    tested = Tested.of(command, library, command[0] if in_python else None)
    return {"tested": tested, "processes": processes, "slurm": slurm, "wheels": wheels, "dask": dask}


def run(
    target: Target,
    where: dict[str, Any],
    *,
    save: str | None,
    format: str | None,
    quiet: bool,
    junit_file: str | None,
    in_github: bool,
    gitlab_file: str | None,
    advise: float | None,
    **options: Any,
) -> int:
    """Test a decision component and print the finding; the exit status.

    Args:
        target: the decision component; it is closed at the end.
        where: the arguments that the function `where` returns.
        save: the folder for the conversation of the finding, or None.
        format: "binary" or "json": the format of the saved conversation; None keeps the format of the component.
        quiet: print only the finding, and advice.
        junit_file: the file for JUnit's XML, or None.
        in_github: print the finding as an annotation of GitHub Actions, too.
        gitlab_file: the file for GitLab's report of code quality, or None.
        advise: print advice about what lasts longer than this number of simulated seconds, or None.
        options: the others that `find` has.
    """
    output = Output()
    for path in (junit_file, gitlab_file):
        folder = os.path.dirname(path or "")
        if folder and not os.path.isdir(folder):
            raise click.UsageError(f"there is no folder {folder!r} for {path!r}")
    try:
        with _stoppable(), target, output.progress(counted="simulations") as bar:
            report = _found(target, where, output, on_progress=bar.at, advise_after=advise, **options)
    except CannotRun as error:
        name, reason = error.filename or target.name, reason_of(error)
        output.remark(printable(name), reason)
        _write(junit_file, lambda: junit(f"{name}: {reason}", target.name))
        return CANNOT_RUN
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except _Terminated:
        return TERMINATED
    if report.finding is not None:
        _tell(report.finding, output)
        if save is not None:
            output.line(("", "saved as "), ("file", printable(_save(report.finding, save, format))))
        if in_github:
            output.line(("", github(report.finding)))
    _write(junit_file, lambda: junit(report, target.name))
    _write(gitlab_file, lambda: gitlab(report, target.name))
    if not quiet:
        _tell_report(report, output)
    elif report.finding is None:
        output.lines([[("", printable(line))] for line in report.advice_lines()])
    return 0 if report.finding is None else 1


def _found(target: Target, where: dict[str, Any], output: Output, **options: Any) -> Report:
    if not where:
        return find(target, **options)
    from batprotocol.studies.conformance import find_on

    try:
        return find_on(**where, **options, on_note=lambda note: output.remark(printable(target.name), note))
    except CannotRun:
        raise
    except (ClusterError, PackageMissing, StudyError, OSError) as error:  # 1 would mean that there is a finding
        name, reason = getattr(error, "filename", None), reason_of(error) if isinstance(error, OSError) else str(error)
        raise CannotRun(0, reason, name or target.name) from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let the first signal end the work, and ignore the next ones while it cleans up."""
    came = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            raise _Terminated if number == signal.SIGTERM else KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(path: str | None, made: Callable[[], bytes]) -> None:
    if path is not None:
        with naming(path), open(path, "wb") as file:
            file.write(made())


def _save(finding: Finding, folder: str, format: str | None) -> str:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{finding.rule}.tar.xz")
    save(finding, path, format)
    return path


def _tell(finding: Finding, output: Output) -> None:
    violation, rule = finding.violation, explained(finding.rule)
    output.line(("heading", f"{rule.title} "), ("detail", f"[{rule.id}]"))
    output.line(("", f"  {printable(str(violation).removesuffix(f' [{rule.id}]'))}"))
    output.line(("", f"  {rule.explanation}"))
    output.line(("heading", "The simulation"))
    output.lines([[("", f"  {printable(line)}")] for line in finding.case.lines()])
    output.line(("heading", f"The conversation, {number_of(len(finding.log), 'message')}"))
    frames = [(f"{number:05}-{direction}.bin", data) for number, (direction, data) in enumerate(encoded(finding.log))]
    print_frames(frames[:MOST_SHOWN], output)
    if len(frames) > 2 * MOST_SHOWN:
        output.line(("detail", f"... {number_of(len(frames) - 2 * MOST_SHOWN, 'message')} ..."))
    print_frames(frames[MOST_SHOWN:][-MOST_SHOWN:], output)
    if finding.details:
        output.line(("heading", "The last lines that it printed"))
        output.lines([[("", f"  {printable(line)}")] for line in finding.details.splitlines()])


def _tell_report(report: Report, output: Output) -> None:
    verdict = "nothing found" if report.finding is None else f"found {report.finding.rule}"
    output.line(("heading" if report.finding else "good", verdict), ("", f" in {report.seconds:.1f} s"))
    output.lines([[("", printable(line))] for line in report.lines()])
