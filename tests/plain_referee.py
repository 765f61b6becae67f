"""The plain player, a player without chance, on top of the referee.

It always takes the first legal thing in an order of cards, so two engines that agree on the rules must play the same
game with it. Settings: `high` turns round the order of cards, `bonus` pays for the bonus where it can.
"""

from __future__ import annotations

from typing import Any

from tests.referee import DECLINE, SIDES, Answer, Habitat, Referee, Visible

PLAY_FROM = 5  # cards in hand from which a play comes before a draw
SETTINGS = {"plain": (False, False), "plain_high": (True, False), "plain_bonus": (False, True)}  # (high, bonus)


def order(card: str, high: bool) -> int:
    """Sort key of the order of cards."""
    number = int(card[1:])
    return -number if high else number


def choose(referee: Referee, high: bool, bonus: bool) -> Answer:
    """The plain player's answer to the pending decision."""
    match referee.phase:
        case "CAVE" | "HOST":
            return referee.legal()[0]
        case "TURN":
            return choose_action(referee)
        case "DRAW":
            return choose_draw(referee, high)
        case "PAY":
            return choose_payment(referee, high, bonus)
        case _:
            answers = [answer for answer in referee.legal() if answer != DECLINE]
            return min(answers, key=lambda answer: (order(answer[1], high), answer[2:]))


def choose_action(referee: Referee) -> Answer:
    """Play from five cards on if a play is possible, otherwise draw, otherwise whatever is left."""
    legal = referee.legal()
    hand = len(referee.hands[referee.player])
    if ("play",) in legal and (hand >= PLAY_FROM or ("draw",) not in legal):
        return ("play",)
    return ("draw",) if ("draw",) in legal else ("swap",)


def choose_draw(referee: Referee, high: bool) -> Answer:
    """First from the stack, then from the clearing unless it is empty."""
    if referee.drawn == 0 or not referee.clearing:
        return ("stack",)
    return ("clearing", min(referee.clearing, key=lambda card: order(card, high)))


def choose_payment(referee: Referee, high: bool, bonus: bool) -> Answer:
    """The first card in order; with `bonus` and enough cards of the symbol when payment began, the first of those."""
    assert referee.in_play is not None
    card, half = referee.in_play
    species, symbol = referee.cards[card].halves[half]
    hand = referee.hands[referee.player]
    if bonus and referee.bonus_of(species) is not None:
        matching = [other for other in hand + referee.paid if referee.cards[other].shows(symbol)]
        if len(matching) >= species.cost:
            hand = [other for other in hand if other in matching]
    return ("pay", min(hand, key=lambda other: order(other, high)))


def play(referee: Referee, settings: list[tuple[bool, bool]]) -> dict[str, Any]:
    """Play a game to its end with one (high, bonus) per seat; returns what `replay --json` prints of a game."""
    while referee.phase != "OVER":
        referee.apply(choose(referee, *settings[referee.player]))
    return {
        "scores": [referee.score(seat)["total"] for seat in range(referee.players)],
        "win_shares": referee.win_shares(),
        "turns": referee.turn,
        "winter_turns": list(referee.winter_turns),
        "ending": referee.ending,
        "forests": forest_file(referee),
    }


def forest_file(referee: Referee) -> dict[str, Any]:
    """The table as a forest file document."""
    return {
        "players": [
            {
                "name": f"seat {seat}",
                "cave": referee.caves[seat],
                "cave_cards": len(referee.cave_cards[seat]),
                "habitats": [write_habitat(habitat) for habitat in forest],
            }
            for seat, forest in enumerate(referee.forests)
        ]
    }


def write_habitat(habitat: Habitat) -> dict[str, Any]:
    """A habitat of a forest file; the twin slots of a moor are one list."""
    doc: dict[str, Any] = {"card": habitat.base.species.key}
    if habitat.base.symbol is not None:
        doc["symbol"] = habitat.base.symbol
    for side in SIDES["top_bottom"] if habitat.is_moor else habitat.slots:
        doc[side] = [
            write_entry(visible)
            for slot in habitat.slots
            if slot.rstrip("2") == side
            for visible in habitat.slots[slot]
        ]
    return doc


def write_entry(visible: Visible) -> str:
    """An entry `species:symbol` of a forest file."""
    return f"{visible.species.key}:{visible.symbol}"
