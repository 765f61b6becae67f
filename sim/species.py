"""The species of the box: reading and checking of `species.csv`, and their rules in codes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path

from sim.codes import CardType, Placement, ScoreOp, Share, Slot
from sim.data_files import DATA, Row, check_distinct, read_rows
from sim.errors import DartmoorError
from sim.grammar import (
    SYMBOL_NAMES,
    Effect,
    Permanent,
    Scoring,
    mask_of,
    parse_effect,
    parse_permanent,
    parse_scoring,
    parse_types,
)
from sim.rules import HAND_LIMIT, SPECIES
from sim.rulings import Rulings, complete_icons

COLUMNS = ("key", "name", "slot", "copies", "cost", "types", "placement", "scoring", "effect", "bonus", "permanent")
SLOT_NAMES = {slot.name.lower(): slot for slot in Slot}
# Cards of the deck that show a species of the slot (rulebook, Parts): side species on both halves of 45 cards.
COPIES = {Slot.TREE: 36, Slot.SHRUB: 8, Slot.MOOR: 27, Slot.TOP: 56, Slot.BOTTOM: 56, Slot.SIDE: 90}
HABITATS = {Slot.TREE: CardType.TREE, Slot.SHRUB: CardType.SHRUB, Slot.MOOR: CardType.MOOR}
HABITAT_TYPES = mask_of(*HABITATS.values())
MAX_COST = HAND_LIMIT - 1  # the other cards of a full hand
# Kernels do not count doubled copies for these.
NOT_DOUBLED = frozenset({ScoreOp.HOST_FULL, ScoreOp.COPIES_STEPS, ScoreOp.SETS, ScoreOp.PER_OWN_SYMBOL})
WHEATEAR_TRIGGER = "wheatear_trigger"


@dataclass(frozen=True)
class Species:
    """One row of species.csv; effect and bonus stay texts, since icons and rulings decide on them."""

    key: str
    name: str
    slot: Slot
    copies: int
    cost: int
    types: int  # mask of 1 << CardType
    moor_only: bool
    is_cuckoo: bool
    scoring: Scoring
    effect: str
    bonus: str
    permanent: Permanent


@cache
def box_species() -> tuple[Species, ...]:
    """Return the species of the box, read once; a species code is an index into it."""
    return tuple(read_species())


def read_species(path: Path | str | None = None) -> list[Species]:
    """Return the species of a CSV file like `species.csv`, in the order of the file.

    Raises
    ------
    DartmoorError
        A cell that is not understood, a key twice, totals other than those of the box, or rules that do not fit
        together; the message names file, line and column.
    """
    path = Path(path) if path else DATA / "species.csv"
    rows = read_rows(path, COLUMNS)
    check_distinct(rows, "key")
    species = [_read_one(row) for row in rows]
    _check_totals(species, path.name)
    _check_together(rows, species)
    _check_sharing(rows, species)
    return species


def _read_one(row: Row) -> Species:
    slot = SLOT_NAMES[row.choice("slot", SLOT_NAMES)]
    copies, cost = row.number("copies", 1, COPIES[slot]), row.number("cost", 0, MAX_COST)
    with row.blame("types"):
        types = parse_types(row["types"], ";")
        if types & HABITAT_TYPES != (mask_of(HABITATS[slot]) if slot in HABITATS else 0):
            raise DartmoorError(f"{row['types']!r} does not fit slot {row['slot']!r}")
    placement = row.choice("placement", _placements(slot))
    with row.blame("scoring"):
        scoring = parse_scoring(row["scoring"])
    with row.blame("permanent"):
        permanent = parse_permanent(row["permanent"])
        if permanent.share != Share.NONE and slot in HABITATS:
            raise DartmoorError("only a half can let others share a slot")
    _check_effects(row)
    if slot == Slot.TREE and row["key"] not in SYMBOL_NAMES:
        raise row.error("key", f"a tree is named after its symbol, one of {', '.join(SYMBOL_NAMES)}")
    return Species(
        row["key"],
        row["name"],
        slot,
        copies,
        cost,
        types,
        placement == "moor_only",
        placement == "cuckoo",
        scoring,
        row["effect"],
        row["bonus"],
        permanent,
    )


def _placements(slot: Slot) -> tuple[str, ...]:
    """Return the words of column `placement` that a slot allows; moors have no sides."""
    return {Slot.TOP: ("", "moor_only", "cuckoo"), Slot.BOTTOM: ("", "moor_only")}.get(slot, ("",))


def _check_effects(row: Row) -> None:
    for column in ("effect", "bonus"):
        with row.blame(column):
            ruling = parse_effect(row[column], complete_icons(None)).ruling
            if ruling and (ruling != WHEATEAR_TRIGGER or column != "effect" or row["bonus"]):
                raise DartmoorError(f"only an effect without a bonus beside it may name the ruling {WHEATEAR_TRIGGER}")


def _check_totals(species: Sequence[Species], file: str) -> None:
    if len(species) != SPECIES:
        raise DartmoorError(f"{file}: {len(species)} species, expected {SPECIES}")
    for slot, expected in COPIES.items():
        copies = sum(one.copies for one in species if one.slot == slot)
        if copies != expected:
            raise DartmoorError(f"{file}, column copies: {copies} {slot.name.lower()} copies, expected {expected}")


def _check_together(rows: Sequence[Row], species: Sequence[Species]) -> None:
    """Raise a DartmoorError at the first species whose rules do not fit those of the others."""
    doubled = _union(one.scoring.doubles for one in species)
    own_symbol = _scoring_by(species, ScoreOp.PER_OWN_SYMBOL)
    set_steps = {one.scoring.steps for one in _scoring_by(species, ScoreOp.SETS)}
    for row, one in zip(rows, species, strict=True):
        ops = {term.op for term in one.scoring.terms}
        with row.blame("scoring"):
            if one.scoring.doubles and one.slot not in HABITATS:
                raise DartmoorError("only a tree, shrub or moor can double what is below it")
            if ScoreOp.IN_MOOR in ops and one.slot in HABITATS:
                raise DartmoorError("only a half can score in_moor: a habitat is in no moor")
            if one.slot == Slot.BOTTOM and one.types & doubled and ops & NOT_DOUBLED:
                names = ", ".join(op.name for op in sorted(NOT_DOUBLED))
                raise DartmoorError(f"another species would double these points, which is not possible for {names}")
            if ScoreOp.PER_OWN_SYMBOL in ops and own_symbol != [one]:
                raise DartmoorError("only one species may score its own symbol")
            if ScoreOp.SETS in ops and len(set_steps) > 1:
                raise DartmoorError("all species of the sets must give the same points by size")


def _check_sharing(rows: Sequence[Row], species: Sequence[Species]) -> None:
    """Raise a DartmoorError at the first leave to share, or placement, that kernels cannot tell apart."""
    grants = sharing_types(species)
    for row, one in zip(rows, species, strict=True):
        share, types = one.permanent.share, one.permanent.share_types
        if share != Share.NONE and types != grants[share]:
            raise row.error("permanent", "all species that share this kind of slot must share it with the same type")
        if one.slot == Slot.TOP and one.types & grants[Share.TOP] and (one.moor_only or one.is_cuckoo):
            raise row.error("placement", f"{row['placement']!r} is not possible for a type that may share a top slot")


def sharing_types(species: Sequence[Species]) -> dict[Share, int]:
    """Return the mask of types that some species lets share a top slot or the side slots."""
    return {
        share: _union(one.permanent.share_types for one in species if one.permanent.share == share) for share in Share
    }


def placements(one: Species, grants: Mapping[Share, int]) -> tuple[Placement, Placement]:
    """Return what the species needs from a habitat as first and as second half; `grants` from `sharing_types`."""
    if one.slot in HABITATS:
        return Placement.HABITAT, Placement.HABITAT
    if one.slot == Slot.SIDE:
        shares = one.types & grants[Share.SIDES]
        return (Placement.LEFT_SHARING, Placement.RIGHT_SHARING) if shares else (Placement.LEFT, Placement.RIGHT)
    if one.slot == Slot.BOTTOM:
        only = Placement.BOTTOM_MOOR if one.moor_only else Placement.BOTTOM
    elif one.is_cuckoo:
        only = Placement.TOP_CUCKOO
    elif one.types & grants[Share.TOP]:
        only = Placement.TOP_SHARING
    else:
        only = Placement.TOP_MOOR if one.moor_only else Placement.TOP
    return only, only


def effects(one: Species, rulings: Rulings, icons: Mapping[str, str]) -> tuple[Effect, Effect]:
    """Return instant effect and bonus of a species; `icons` maps every icon to its type or types."""
    effect, bonus = parse_effect(one.effect, icons), parse_effect(one.bonus, icons)
    if effect.ruling and rulings.wheatear_trigger == "bonus":
        return Effect(), effect
    return effect, bonus


def _scoring_by(species: Sequence[Species], op: ScoreOp) -> list[Species]:
    return [one for one in species if any(term.op == op for term in one.scoring.terms)]


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)
