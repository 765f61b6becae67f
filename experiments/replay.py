"""One game again, from its seed or from a deal: in words for people, as a document for other engines."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments.narrate import Narrator
from experiments.options import Setting
from experiments.score import score_document
from experiments.table_file import forest_document
from sim.actions import MAX_ACTIONS
from sim.batch import Match, run_kernel
from sim.codes import Ending, Phase
from sim.deal import setup
from sim.deals import CARD_IDS, Deal
from sim.errors import DartmoorError
from sim.legal import legal_actions
from sim.machine import apply, step
from sim.play import OUTCOME, PLAYED_OUT, note_outcome, play_game
from sim.rules import SHARES
from sim.scoring import total_points
from sim.state import new_games


def seat_names(setting: Setting) -> list[str]:
    """Return the players' names in forests and words."""
    return [f"seat {seat} ({policy.name})" for seat, policy in enumerate(setting.seats)]


def set_up(setting: Setting, game: int, deal: Deal | None = None) -> np.ndarray:
    """Return the record, shape (1,), of a game before its first decision: a game of the run's seed, or a deal."""
    games, match = new_games(), setting.match()
    if deal is not None:
        deal.setup(games, setting.seed, match.cave_mode, match.kernel_caves)
    else:
        setup(
            games,
            match.tables[0],
            match.players,
            np.uint64(match.seed),
            game,
            int(match.cave_mode),
            match.kernel_caves,
        )
    return games


def play_out(setting: Setting, games: np.ndarray, game: int) -> np.ndarray:
    """Play the game in games[0] to its end; return its outcome, shape (1,), dtype OUTCOME."""
    match, outcome = setting.match(), np.zeros(1, OUTCOME)
    tables, actions = match.tables[0], np.zeros(MAX_ACTIONS, np.int32)
    run_kernel(
        match,
        games,
        lambda: game,
        lambda: play_game(games[0], tables, match.kernel_policies, match.kernel_weights, actions),
    )
    note_outcome(games[0], tables, game, outcome[0])
    return outcome


def result_document(setting: Setting, game: int, deal: Deal | None = None) -> dict[str, Any]:
    """Return scores, win shares, turns, winters, ending and forests of one game, as `replay --json` prints them."""
    games = set_up(setting, game, deal)
    outcome = play_out(setting, games, game)[0]
    players = setting.players
    return {
        "scores": [int(score) for score in outcome["score"][:players]],
        "win_shares": [int(share) / SHARES for share in outcome["share"][:players]],
        "turns": int(outcome["turns"]),
        "winter_turns": [int(turn) for turn in outcome["winter_turn"]],
        "ending": Ending(int(outcome["ending"])).name.lower(),
        "forests": forest_document(games[0], setting.world.tables[0], [f"seat {seat}" for seat in range(players)]),
    }


def narrate(setting: Setting, game: int, deal: Deal | None = None) -> Iterator[str]:
    """Yield the lines of a game: every decision, card, payment, reveal and winter, with the running score."""
    games = set_up(setting, game, deal)
    state, match = games[0], setting.match()
    tables = setting.world.tables[0]
    narrator = Narrator(tables, seat_names(setting))
    yield from opening_lines(setting, state, narrator)
    actions = np.zeros(MAX_ACTIONS, np.int32)
    turn = 0
    while state["phase"] != Phase.OVER:
        if state["phase"] == Phase.RESOLVE:
            op = int(state["pending_op"][state["pending_count"] - 1])
            yield from told(narrator, state, lambda: step(state, tables, actions), op)
            continue
        if state["turn"] != turn:
            turn = int(state["turn"])
            yield from score_lines(narrator, state, tables, setting.players)
            yield ""
            yield narrator.turn(state)
        n = legal_actions(state, tables, actions)
        choice = ask(match, games, actions, n, game) if n > 1 else 0
        action = int(actions[choice])
        forced = "" if n > 1 else " (forced)"
        yield f"  {narrator.seats[int(state['player'])]} {narrator.answer(state, action)}{forced}"
        yield from told(narrator, state, lambda action=action: apply(state, tables, action), None)  # type: ignore[misc]
    yield from score_lines(narrator, state, tables, setting.players)
    yield ""
    cause = Ending(int(state["ending"])).name.lower()
    yield f"The third winter came by {cause} in turn {state['turn']}: the game is over."


def told(narrator: Narrator, state: np.void, change: Callable[[], object], op: int | None) -> list[str]:
    """Let `change` change the record and say what it did."""
    before = state.copy()
    change()
    return [f"    {line}" for line in narrator.step(before, state, op)]


def ask(match: Match, games: np.ndarray, actions: np.ndarray, n: int, game: int) -> int:
    """Ask the deciding seat's policy as the play loop does."""
    seat = int(games[0]["player"])
    choice = -1

    def asked() -> int:
        nonlocal choice
        choice = int(match.policies[seat](games[0], match.tables[0], actions, n, match.kernel_weights[seat]))
        return PLAYED_OUT if 0 <= choice < n else seat

    run_kernel(match, games, lambda: game, asked)
    return choice


def opening_lines(setting: Setting, state: np.void, narrator: Narrator) -> Iterator[str]:
    """Yield the setup: box, hands, caves, first player."""
    numbers = setting.world.tables[0]["cave_number"]
    yield f"{setting.players} players, deck {setting.world.deck.name}; {narrator.seats[int(state['first'])]} is first"
    stack = set(state["stack"][: state["stack_n"]].tolist())
    box = [card_id for card, card_id in enumerate(CARD_IDS) if card not in stack]
    yield f"Box, unseen: {' '.join(box) or 'no cards'}"
    for player in range(setting.players):
        yield f"{narrator.seats[player]} starts with {narrator.cards(state['hand'][player, : state['hand_n'][player]])}"
    if state["offer_n"]:
        offered = ", ".join(str(numbers[cave]) for cave in state["offer"][: state["offer_n"]])
        yield f"Caves on offer: {offered}"
    else:
        given = ", ".join(str(numbers[cave]) for cave in state["cave"][: setting.players])
        yield f"Caves by seat: {given}"


def score_lines(narrator: Narrator, state: np.void, tables: np.void, players: int) -> Iterator[str]:
    """Yield the running score."""
    scores = ", ".join(f"{narrator.seats[p]} {total_points(state, tables, p)}" for p in range(players))
    yield f"  score: {scores}"


def final_sheet(setting: Setting, game: int, deal: Deal | None = None) -> dict[str, Any]:
    """Return the final scoring sheet of a game, scored again from its forests as `score` would.

    Raises
    ------
    DartmoorError
        The sheet does not add up to the game's scores: an error of the program.
    """
    games = set_up(setting, game, deal)
    outcome = play_out(setting, games, game)[0]
    document = forest_document(games[0], setting.world.tables[0], seat_names(setting))
    sheet = score_document(document, tables=setting.world.tables, lenient=True, where=f"game {game}")
    totals = [player["total"] for player in sheet["players"]]
    if totals != [int(score) for score in outcome["score"][: setting.players]]:
        raise DartmoorError(
            f"game {game}: the scoring sheet gives {totals}, the game {outcome['score']}; please report it"
        )
    return sheet
