"""`batproto` itself: it shows the commands that packages bring, and sets the exit status.

The parameters of a command are in the folder `commands` of the package that it commands, which is imported when the
command is called. The modules beside it do the work.
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
from batprotocol.cli.families import PURPOSES, Family, command_of_another, commands, of_others
from batprotocol.cli.terminal import PIPE_CLOSED, STANDARD_OUTPUT, discard, printable
from batprotocol.errors import ProtocolError

__all__ = ["batproto", "main"]

NAME = "batproto"
REFERENCE = PURPOSES[3]
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


_COMPLETION = {"completion": "Print a script that makes the shell complete all this."}
_OTHERS = "Of other packages"


class _Program(Family):
    """The whole of `batproto`: the commands that packages bring. One whose output nobody reads ends with 141."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name: of this library, or else of another package."""
        return super().get_command(ctx, cmd_name) or command_of_another(cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, for completion and for similar names."""
        return sorted({*self.commands, *of_others()})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview, and the commands of other packages below it."""
        super().format_commands(ctx, formatter)
        others = [name for name in sorted(of_others()) if name not in self.commands]
        if others:
            with formatter.section(_OTHERS):
                formatter.write_dl([(name, of_others()[name].value) for name in others])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _quiet_when_closed():  # --help and --version print here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_when_closed():
            return super().invoke(ctx)


def _overview() -> dict[str, dict[str, str]]:
    """The sentences of all commands by their purposes."""
    found: dict[str, dict[str, str]] = {}
    for name, command in commands().items():
        found.setdefault(command.purpose, {})[name] = command.sentence
    found.setdefault(REFERENCE, {}).update(_COMPLETION)
    return found


@contextmanager
def _quiet_when_closed() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
        raise click.exceptions.Exit(PIPE_CLOSED) from None


@click.group(
    cls=_Program,
    overview=_overview(),
    places={name: command.call for name, command in commands().items()},
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
        package = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        if package.startswith("batprotocol."):  # whoever packed this library left it out
            return 1, f"{NAME}: this installation is without {package}, which this needs"
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
