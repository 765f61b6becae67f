"""The command line, `dartmoor`: commands register themselves; here they are gathered and errors become one line."""

import importlib
import os
import pkgutil
import sys

import typer

from experiments import commands

INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="dartmoor",
    help="Simulate Forest Shuffle: Dartmoor: millions of seeded games, win shares with error bars.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and the engine version.")) -> None:
    """Simulate Forest Shuffle: Dartmoor: millions of seeded games, win shares with error bars."""
    if version:
        from sim import ENGINE_VERSION, __version__

        typer.echo(f"dartmoor {__version__}, engine {ENGINE_VERSION}")
        raise typer.Exit


for found in pkgutil.iter_modules(commands.__path__):
    module = importlib.import_module(f"experiments.commands.{found.name}")
    if hasattr(module, "register"):
        module.register(app)


def main() -> None:
    """Run the command line: 0 done, 2 wrong usage or input, 1 failure or interrupted."""
    from sim.errors import DartmoorError

    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()
        sys.exit(code or 0)
    except DartmoorError as error:
        fail(str(error), 2)
    except KeyboardInterrupt:
        fail("interrupted; nothing was finished", 1)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"output: {error.strerror or error}", 1)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not typer's: an error of the program, with its traceback
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(error.format_message() + "\n")
            sys.exit(2)
        fail(error.format_message(), 2)


def fail(message: str, code: int) -> None:
    """Print one line on stderr and exit."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(code)
