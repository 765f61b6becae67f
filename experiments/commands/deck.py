"""`dartmoor deck`: show, check and build decks, and the template for the owner of a box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import DeckOption, JsonOption, console, print_json, warn

if TYPE_CHECKING:
    from rich.table import Table

    from sim.deck import Deck

CsvOption = Annotated[bool, typer.Option("--csv", help="Print the deck's file (CSV).")]
WriteOption = Annotated[Path | None, typer.Option("--out", help="Write the CSV into this file.")]

deck_app = typer.Typer(help="The deck: which species share a card and which symbols they show.", no_args_is_help=True)


def deck_document(name: str) -> dict[str, object]:
    """Return a deck as a document, with its hash and what of it is not published."""
    from collections import Counter
    from dataclasses import asdict

    from sim.deck import deck_hash, deck_warnings, load_deck

    deck = load_deck(name)
    return {
        "deck": deck.name,
        "hash": deck_hash(deck),
        "status": dict(Counter(card.status for card in deck.cards)),
        "warnings": deck_warnings(deck),
        "cards": [asdict(card) for card in deck.cards],
    }


def deck_table(deck: Deck) -> Table:
    """Return a deck as a table of 80 columns; a half too long for its column has its symbol on a line of its own."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from sim.deck import STATUSES

    legend = ", ".join(f"{status[0]} {status}" for status in STATUSES)
    table = Table(title=f"deck {deck.name}", caption=f"status: {legend}", box=SIMPLE_HEAD, show_edge=False, padding=0)
    table.add_column("card", no_wrap=True)
    for heading in ("first (symbol)", "second (symbol)"):
        table.add_column(heading, overflow="fold")
    table.add_column("status", no_wrap=True)
    for card in deck.cards:
        halves = (half_text(card.first, card.first_symbol), half_text(card.second, card.second_symbol))
        table.add_row(f"{card.id} {card.kind}", *halves, card.status[0])
    return table


def half_text(species: str, symbol: str) -> str:
    """Return `species (symbol)`; a tree is its own symbol, and some cards have no second half."""
    return f"{species} ({symbol})" if symbol and symbol != species else species


def write_csv(text: str, out: Path | None) -> None:
    """Print a CSV, or write it whole into a file."""
    import sys

    from experiments.files import write_text

    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)


@deck_app.command("show")
def show(deck: DeckOption = "reference", as_csv: CsvOption = False, as_json: JsonOption = False) -> None:
    """Print the deck in force.

    Example: dartmoor deck show --csv > my_deck.csv
    """
    from sim.deck import load_deck
    from sim.errors import DartmoorError

    if as_csv and as_json:
        raise DartmoorError("--csv and --json: two forms, expected one of them")
    if as_csv:
        write_csv(load_deck(deck).to_csv(), None)
        return
    document = deck_document(deck)
    if as_json:
        print_json(document)
        return
    console().print(deck_table(load_deck(deck)))


@deck_app.command("check")
def check(
    deck: Annotated[str, typer.Argument(metavar="FILE", help="A deck file.")], as_json: JsonOption = False
) -> None:
    """Check a deck file: 172 cards, copies, halves and symbols; warn where it departs from what is published.

    Example: dartmoor deck check my_deck.csv
    """
    document = deck_document(deck)
    warnings = document["warnings"]
    assert isinstance(warnings, list)
    if as_json:
        print_json({key: value for key, value in document.items() if key != "cards"})
        return
    for line in warnings:
        warn(line)
    console().print(f"{deck}: a deck of this box, {len(warnings)} warnings", markup=False)


@deck_app.command("build")
def build(
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of another deck; without it the reference.")] = None,
    out: WriteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build a deck that keeps everything known and is otherwise as even as possible.

    Example: dartmoor deck build --seed 7 --out deck7.csv
    """
    from sim.deck import load_deck

    name = "reference" if seed is None else f"seed:{seed}"
    if out is not None or not as_json:
        write_csv(load_deck(name).to_csv(), out)
    if as_json:
        print_json(deck_document(name))


@deck_app.command("template")
def template_command(out: WriteOption = None) -> None:
    """Print a deck file with everything known filled in, for the owner of a box to complete.

    Example: dartmoor deck template --out my_deck.csv
    """
    from sim.deck import template

    write_csv(template(), out)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(deck_app, name="deck")
