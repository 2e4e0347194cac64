"""`batproto` itself: it finds the commands and sets the exit status.

The parameters of a command are in the module `command` of its family's folder, which is imported when the command is
called. The modules beside it do the work.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn, TextIO, cast

import click
from click.shell_completion import get_completion_class

from batprotocol._util.files import reason_of
from batprotocol.cli.completing import use_bash_as_it_is
from batprotocol.cli.families import Family
from batprotocol.cli.terminal.output import PIPE_CLOSED, STANDARD_OUTPUT, discard
from batprotocol.cli.terminal.text import printable
from batprotocol.errors import ProtocolError

__all__ = ["batproto", "main"]

NAME = "batproto"
SHELLS = ("bash", "zsh", "fish")
INTERRUPTED = 130
"""The exit status that shells report for a program that SIGINT ends."""


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from batprotocol.cli.version import slow_engine, version

        click.echo(f"{NAME} {version()}")
        sentence = slow_engine()
        if sentence:
            click.echo(f"{NAME}: {sentence}", err=True)
        context.exit()


_OVERVIEW = {
    "Write schedulers, and try them": {
        "new": "Write a scheduler to start from, and its test.",
        "policies": "List the built-in policies, and the parts of their names.",
        "simulate": "Simulate a scheduler with the embedded Batsim.",
        "import": "Make a workload of the log of a resource manager.",
        "workload": "Describe workloads, and make workloads of other formats.",
        "compare": "Compare the results of two simulations, job by job.",
        "study": "Run many simulations, and make tables and plots of them.",
        "whatif": "Report what other policies, arrivals or hosts would change.",
        "conformance": "Test whether a scheduler, in any language, keeps the rules.",
    },
    "Run schedulers with Batsim": {
        "run": "Run a scheduler for one simulation, and start Batsim for it.",
        "library": "Print the options with which Batsim loads a scheduler.",
        "bridge": "Connect a Batsim and a scheduler of different versions.",
    },
    "Look at recordings and messages": {
        "dump": "Print messages as readable trees, or as JSON.",
        "at": "Show the state of a run at a simulated time.",
        "tap": "Record the messages between Batsim and any scheduler.",
        "export": "Write a run for other programs: Perfetto, CSV, Parquet.",
        "timeline": "Show jobs on hosts over time, in a page or a figure.",
        "stats": "Print statistics of a run: sizes, times, jobs, utilisation.",
        "diff": "Find where two runs begin to differ, and which jobs differ.",
        "replay": "Find where a scheduler decides differently than recorded.",
        "check": "Check that a run follows the rules of the conversation.",
        "validate": "Check that messages can be read, and belong to the schema.",
        "convert": "Convert a message, or a whole recording, into another format.",
    },
    "Look up reference": {
        "rules": "List the rules of the conversation, or explain one of them.",
        "schema": "Show the schema: fields, types, defaults, comments.",
        "completion": "Print a script that makes the shell complete all this.",
    },
    "Other systems": {
        "grid": "Run campaigns on the idle resources of clusters, as CiGri.",
        "fast": "Talk to the parts of FaST over MQTT, and check them.",
        "mcp": "Let an assistant simulate, and look at recordings.",
    },
}


_PLACES = {
    "new": "batprotocol.edc.commands.new:new",
    "policies": "batprotocol.schemas.commands.command:policies",
    "simulate": "batprotocol.simulator.commands.command:simulate",
    "import": "batprotocol.sites.logs.commands.command:import_logs",
    "workload": "batprotocol.workloads.commands.command:workload",
    "compare": "batprotocol.studies.commands.compare:compare",
    "study": "batprotocol.studies.commands.command:study",
    "whatif": "batprotocol.studies.commands.whatif:whatif",
    "conformance": "batprotocol.testing.commands.conformance:conformance",
    "run": "batprotocol.edc.commands.run:run",
    "library": "batprotocol.edc.commands.run:library",
    "bridge": "batprotocol.legacy.commands:bridge",
    "dump": "batprotocol.wire.commands.command:dump",
    "at": "batprotocol.recordings.commands.command:at",
    "tap": "batprotocol.recordings.commands.command:tap",
    "export": "batprotocol.recordings.commands.command:export",
    "timeline": "batprotocol.recordings.commands.command:timeline",
    "stats": "batprotocol.recordings.commands.command:stats",
    "diff": "batprotocol.recordings.commands.command:diff",
    "replay": "batprotocol.recordings.commands.command:replay",
    "check": "batprotocol.wire.commands.command:check",
    "validate": "batprotocol.wire.commands.command:validate",
    "convert": "batprotocol.wire.commands.command:convert",
    "rules": "batprotocol.schemas.commands.command:rules",
    "schema": "batprotocol.schemas.commands.command:schema",
    "grid": "batprotocol.campaigns.commands.command:grid",
    "fast": "batprotocol.fast.commands.command:fast",
    "mcp": "batprotocol.mcp.command:mcp",
}


class _Program(Family):
    """The whole of `batproto`. A command whose output nobody reads ends with 141; click would make it 1."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _quiet_when_closed():  # --help and --version print here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_when_closed():
            return super().invoke(ctx)


@contextmanager
def _quiet_when_closed() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
        raise click.exceptions.Exit(PIPE_CLOSED) from None


@click.group(
    cls=_Program,
    overview=_OVERVIEW,
    places=_PLACES,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version, the engine, and the source tree if it runs from one, and exit.",
)
@click.pass_context
def batproto(context: click.Context) -> None:
    """Read, check and convert messages of batprotocol, the protocol between Batsim and schedulers.

    FILE is a message file or a handshake frame, in any format of any version of the protocol, or - for standard input.
    It can also be a directory, an archive (.tar.xz) or a .mcap of them, or one message of an archive, such as
    run.tar.xz/00004-b2e.bin. It can be a recording of FaST, run.jsonl, or one of its lines, run.jsonl/5. Messages may
    have up to 256 MiB. Archives may unpack to 256 MiB, or to 500 times their size.

    \b
    Examples:
      batproto dump run.tar.xz                      the messages of a run
      batproto dump --job 'w0!12' run.tar.xz        ... about one job
      batproto dump --json-lines run.tar.xz | jq .  ... for other programs
      batproto convert message.bin message.json
      batproto validate recordings/
      batproto check run.tar.xz                     find broken rules
      batproto simulate scheduler.py:FCFS           simulate 250 jobs
      batproto simulate easy-sjf                    ... with a built-in policy
      batproto conformance scheduler.py:FCFS        test a scheduler
      batproto run --protocol 4.2 scheduler.py:FCFS a new scheduler, Batsim 4
      batproto grid run                             campaigns on idle resources
      batproto schema ExecuteJob

    \b
    Exit status:
      0    success
      1    something is wrong with a message, a file or the output; the command
           has done the rest of its work
      2    the command line is wrong, or Batsim's own status, which "batproto
           run" passes on
      130  interrupted
      141  nobody reads the output any more
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


# batproto completion

use_bash_as_it_is()


@batproto.command()
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes the shell complete batproto's commands, options, files, policies and names.

    \b
    bash:  batproto completion bash > ~/.local/share/bash-completion/completions/batproto
    zsh:   batproto completion zsh > ~/.zfunc/_batproto   (with ~/.zfunc in fpath, before compinit)
    fish:  batproto completion fish > ~/.config/fish/completions/batproto.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(batproto, {}, NAME, f"_{NAME.upper()}_COMPLETE").source())


# The program


class _Closed(io.RawIOBase):
    """Standard output that was closed before the program began: each write raises an error."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "it is closed", STANDARD_OUTPUT)


def _closed() -> TextIO:
    return io.TextIOWrapper(cast(BinaryIO, _Closed()), "utf-8", write_through=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `batproto` and exit. It reports an error as one sentence on standard error."""
    with open(os.devnull, "w") as nowhere, _closed() as closed:
        # Both are None when the program was started with them closed.
        sys.stdout = sys.stdout or closed
        sys.stderr = sys.stderr or nowhere
        status, sentence = _run(arguments)
        if sentence:
            print(printable(sentence), file=sys.stderr)
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """The exit status, and the message for standard error."""
    try:
        status = batproto.main(arguments, prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0), ""
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else NAME
        message = " ".join(error.format_message().split()).rstrip(".")
        return error.exit_code, f"{command}: {message[:1].lower()}{message[1:]} (see {command} --help)"
    except click.ClickException as error:
        return error.exit_code, f"{NAME}: {error.format_message()}"
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED, ""
    except ProtocolError as error:
        return 1, f"{NAME}: {error}"
    except BrokenPipeError:
        discard(sys.stdout)
        return PIPE_CLOSED, ""
    except OSError as error:
        stuck = _stuck()
        name = error.filename or stuck
        return 1, f"{NAME}: {name}: {reason_of(error)}" if name else f"{NAME}: {reason_of(error)}"
    except MemoryError:
        return 1, f"{NAME}: there is not enough memory for this"
    except Exception as error:
        place = _place(error)
        return 1, f"{NAME}: a fault of batproto itself, please report it: {type(error).__name__} in {place}: {error}"


def _stuck() -> str | None:
    """The name of standard output if it does not take the rest of the output; nothing more is written then."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        return None if isinstance(error, BrokenPipeError) else STANDARD_OUTPUT
    return None


def _place(error: Exception) -> str:
    """The file and line at which an exception was raised, for a report."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}" if last is not None else "?"
