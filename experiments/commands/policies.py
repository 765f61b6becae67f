"""`dartmoor policies`: list, show and check the policies, the user's own among them."""

from typing import Annotated, Any

import typer

from experiments.commands.common import (
    DeckOption,
    JsonOption,
    PlayersOption,
    SeedOption,
    console,
    print_json,
    world_of,
)

NameArgument = Annotated[
    str, typer.Argument(metavar="POLICY", help="A name from `policies list`, weights:FILE.toml or FILE.py:NAME.")
]
PositionsOption = Annotated[int, typer.Option("--positions", min=1, help="Positions to try the policy in.")]

policies_app = typer.Typer(help="The players of the simulation, one's own among them.", no_args_is_help=True)


@policies_app.command("list")
def list_command(as_json: JsonOption = False) -> None:
    """List the policies that need no file.

    Example: dartmoor policies list
    """
    from rich.table import Table

    from policies.registry import FORMS, policy_list

    entries = policy_list()
    if as_json:
        print_json({"policies": entries, "forms": FORMS.split(", ")})
        return
    table = Table("policy", "kind", "what it does")
    for entry in entries:
        table.add_row(entry["name"], entry["kind"], entry["summary"])
    console().print(table)
    console().print(f"and from files: {FORMS} (docs/policies.md)", markup=False)


@policies_app.command("show")
def show(policy: NameArgument, as_json: JsonOption = False) -> None:
    """Print a policy's features and weights.

    Example: dartmoor policies show bats
    """
    from policies.registry import describe_policy

    document = describe_policy(policy)
    if as_json:
        print_json(document)
    else:
        _print_description(document)


def _print_description(document: dict[str, Any]) -> None:
    from rich.table import Table

    console().print(f"{document['name']}: {document['summary']}", markup=False)
    if "features" not in document:
        return
    with_base = document["base"] is not None
    table = Table("feature", "weight", *(["balanced"] if with_base else []), "what one unit of it is")
    table.columns[1].justify = "right"
    for feature in document["features"]:
        weight, base = f"{feature['weight']:g}", f"{feature['base_weight']:g}" if with_base else ""
        marked = f"[bold]{weight}[/]" if with_base and weight != base else weight
        table.add_row(feature["name"], marked, *([base] if with_base else []), feature["text"])
    console().print(table)


@policies_app.command("check")
def check(
    policy: NameArgument,
    players: PlayersOption = 2,
    positions: PositionsOption = 2000,
    seed: SeedOption = 1,
    deck: DeckOption = "reference",
    as_json: JsonOption = False,
) -> None:
    """Check a policy: legal choices, the same when asked twice, blind to what is hidden, reading only; and its speed.

    Example: dartmoor policies check mine.py:policy
    """
    import time
    from dataclasses import asdict

    world = world_of(deck)
    from experiments.options import check_players, check_seed
    from policies.check import check_policy
    from policies.registry import load_policy

    check_players(players)
    check_seed(seed)
    start = time.perf_counter()
    loaded = load_policy(policy, players)
    compile_seconds = time.perf_counter() - start
    report = check_policy(loaded, world.tables, players, positions, seed)
    if as_json:
        print_json({**asdict(report), "passed": report.passed, "seed": seed, "load_seconds": compile_seconds})
    else:
        _print_report(report, compile_seconds)
    if not report.passed:
        raise typer.Exit(1)


def _print_report(report: Any, load_seconds: float) -> None:
    out = console()
    phases = ", ".join(f"{name} {count}" for name, count in sorted(report.phases.items()))
    out.print(f"{report.policy}, {report.players} players, {report.positions} positions: {phases}", markup=False)
    for finding in report.findings:
        out.print(f"{'passed' if finding.passed else 'FAILED'}  {finding.name}: {finding.detail}", markup=False)
    if report.microseconds is not None:
        out.print(
            f"speed   {report.microseconds:.1f} microseconds a choice; loaded in {load_seconds:.1f} s", markup=False
        )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(policies_app, name="policies")
