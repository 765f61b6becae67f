"""A game in words: what each answer and each step of the machine did, read off the record before and after."""

from collections.abc import Sequence

import numpy as np

from experiments.table_file import is_moor_habitat
from sim.actions import act_of, card_of, half_of, slot_of
from sim.codes import Act, EffectOp, Face, MoorSlot, Phase, Place, Symbol, TreeSlot
from sim.deals import CARD_IDS, WINTER_IDS
from sim.machine import earns_bonus
from sim.rules import DECK_SIZE
from sim.species import box_species

SLOT_NAMES: dict[bool, dict[int, str]] = {
    False: {slot: slot.name.lower() for slot in TreeSlot},
    True: {
        MoorSlot.TOP: "first top",
        MoorSlot.BOTTOM: "first bottom",
        MoorSlot.TOP2: "second top",
        MoorSlot.BOTTOM2: "second bottom",
    },
}
STEP_CAUSES = {
    EffectOp.REVEAL: "the tree reveals",
    EffectOp.TRIGGERED_DRAW: "permanent effect",
    EffectOp.SWAP_DRAW: "swap",
    EffectOp.END_TURN: "end of turn",
}


class Narrator:
    """Names things of one world in words."""

    def __init__(self, tables: np.void, seats: Sequence[str]) -> None:
        """`tables` is the record; `seats` the players' names."""
        self.tables = tables
        self.seats = seats

    def half(self, card: int, half: int) -> str:
        """Name the species and symbol of a half, such as `Gnat (ash)`."""
        species = box_species()[int(self.tables["species"][card, half])]
        symbol = Symbol(int(self.tables["symbol"][card, half])).name.lower().replace("_", " ")
        return f"{species.name} ({symbol})"

    def card(self, card: int) -> str:
        """Name a card by id and halves."""
        halves = " / ".join(self.half(card, half) for half in range(self.tables["halves"][card]))
        return f"{CARD_IDS[card]} {halves}"

    def cards(self, cards: Sequence[int] | np.ndarray) -> str:
        """Name several cards."""
        return "; ".join(self.card(int(card)) for card in cards) or "none"

    def habitat(self, state: np.void, card: int) -> str:
        """Name a habitat by what it shows."""

        if state["face"][card] == Face.DOWN:
            return f"the universal moor {CARD_IDS[card]}"
        kind = "moor" if is_moor_habitat(state, self.tables, card) else "habitat"
        return f"the {kind} {CARD_IDS[card]} {box_species()[int(self.tables['species'][card, 0])].name}"

    def answer(self, state: np.void, action: int) -> str:
        """Say what the deciding player is about to do, in the record before it."""
        act, card = Act(act_of(action)), card_of(action)
        if act == Act.CARD:
            half = half_of(action)
            paid = Phase(int(state["phase"])) == Phase.CARD
            cost = self.tables["cost"][self.tables["species"][card, half]]
            how = f"plays {self.half(card, half)}, cost {cost}," if paid else f"places free {self.half(card, half)}"
            return f"{how} of {self.card(card)}"
        if act == Act.HOST:
            slot = SLOT_NAMES[is_moor_habitat(state, self.tables, card)][slot_of(action)]
            return f"puts it into the {slot} slot of {self.habitat(state, card)}"
        if act == Act.CAVE:
            return f"takes cave {self.tables['cave_number'][card]}"
        words = {
            Act.DRAW: "draws",
            Act.PLAY: "plays a card",
            Act.SWAP: "can neither draw nor play, and swaps two cards",
            Act.STACK: "draws from the stack",
            Act.STOP: "leaves the second draw",
            Act.DECLINE: "declines",
        }
        if act in words:
            return words[act]
        verbs = {
            Act.CLEARING: "draws from the clearing",
            Act.PAY: "pays with",
            Act.MOOR: "lays face down as a universal moor",
            Act.TAKE: "takes from the clearing",
            Act.STORE: "puts from the clearing into the cave",
            Act.DISCARD: "discards",
            Act.HIDE: "puts from the hand into the cave",
        }
        return f"{verbs[act]} {self.card(card)}"

    def step(self, before: np.void, after: np.void, op: int | None) -> list[str]:
        """Say what came off the stack, and which cards a step moved besides (to the cave, to the discard pile)."""
        cause = STEP_CAUSES.get(EffectOp(op), "effect") + ": " if op is not None else ""
        lines = []
        if op is None:
            lines += self.bonus(before, after)
        winters = int(before["winters"])
        taken = after["stack"][before["stack_top"] : after["stack_top"]]
        for k, number in enumerate(taken):
            card = int(number)
            if card >= DECK_SIZE:
                winters += 1
                left = int(after["stack_n"]) - int(before["stack_top"]) - k - 1
                lines.append(
                    f"{cause}winter {winters} ({WINTER_IDS[card - DECK_SIZE]}), {left} cards left in the stack"
                )
            else:
                lines.append(f"{cause}{self.card(card)} {self.goes(after, card)}")
        moved = np.flatnonzero(before["place"] != after["place"]).tolist()
        for card in moved:
            if before["place"][card] == Place.CLEARING and op is not None and after["place"][card] >= Place.CAVE:
                lines.append(f"{cause}{self.card(card)} goes from the clearing into the cave")
            elif op is None and before["place"][card] != after["place"][card] == Place.DISCARD:
                lines.append(f"{self.card(card)} goes to the discard pile")
        discarded = [card for card in moved if op == EffectOp.END_TURN and after["place"][card] == Place.DISCARD]
        if discarded:
            lines.append(f"{cause}the clearing with its {len(discarded)} cards goes to the discard pile")
        if not before["extra_turn"] and after["extra_turn"]:
            lines.append(f"{cause}one more turn after this one")
        return lines

    def bonus(self, before: np.void, after: np.void) -> list[str]:
        """Say whether a paid play that has just been placed earned its bonus; nothing if it has none."""
        card = int(after["play_card"])
        is_placed = Place.FOREST <= after["place"][card] < Place.CAVE and before["place"][card] != after["place"][card]
        species = int(self.tables["species"][card, after["play_half"]])
        if not is_placed or after["play_mode"] != EffectOp.NONE or self.tables["bonus_op"][species] == EffectOp.NONE:
            return []
        return ["the bonus is earned" if earns_bonus(after, self.tables) else "the bonus is not earned"]

    def goes(self, state: np.void, card: int) -> str:
        """Say where a card off the stack went."""
        place = int(state["place"][card])
        if place == Place.CLEARING:
            return "goes into the clearing"
        if place >= Place.CAVE:
            return f"goes into the cave of {self.seats[place - Place.CAVE]}"
        if place == Place.DISCARD:
            return "goes through the clearing to the discard pile"
        return f"comes into the hand of {self.seats[place - Place.HAND]}"

    def turn(self, state: np.void) -> str:
        """Head a turn: who, hand, clearing, stack."""
        player = int(state["player"])
        extra = ", extra turn" if state["is_extra"] else ""
        hand = state["hand"][player, : state["hand_n"][player]]
        clearing = state["clearing"][: state["clearing_n"]]
        return (
            f"Turn {state['turn']}, round {state['rounds']}{extra}: {self.seats[player]}; "
            f"{int(state['stack_n']) - int(state['stack_top'])} cards in the stack\n"
            f"  hand: {self.cards(hand)}\n  clearing: {self.cards(clearing)}"
        )
