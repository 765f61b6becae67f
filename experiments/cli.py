"""The command line, `dartmoor`: commands register themselves; here they are gathered and errors become one line."""

import importlib
import pkgutil
import sys

import typer

from experiments import commands

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
        app()
    except DartmoorError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        sys.exit(0)
