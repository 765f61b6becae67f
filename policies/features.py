"""The position through the eyes of the `weights` policy: one linear value of named features (`policies.feature_names`).

A VIEW holds what one decision needs to know of the player's own hand and forest and of the table, so that each
candidate costs little. Nothing here looks at the stack's order, the box or another hand.
"""

import numpy as np
from numba import from_dtype, njit

from policies.feature_names import Feature
from sim.codes import CardType, EffectOp, Place, Placement, ScoreOp, Slot
from sim.effects import count_types
from sim.forest import can_place
from sim.gain import NOWHERE, cave_gain, placement_gain
from sim.rules import CLEARING_LIMIT, HALVES, HAND_LIMIT, OPENING_HAND, SYMBOLS, TYPES
from sim.scoring import TERMS, steps_points

FEATURES = len(Feature)
FIRST_TYPE = int(Feature.TREE)  # the weight of type t is FIRST_TYPE + t
LOOK = 3  # further cards that a step score is judged by
ENOUGH = 4  # hand that is not short
LEAD = 2  # moors beyond which a lead or a lag is no longer worth more
PILE = 9  # at first the end is expected a third of the last third above the bottom: a ninth of the stack
TREE_PLACES = 1 << Placement.TOP | 1 << Placement.TOP_SHARING | 1 << Placement.BOTTOM | 1 << Placement.LEFT
TREE_PLACES |= 1 << Placement.LEFT_SHARING | 1 << Placement.RIGHT | 1 << Placement.RIGHT_SHARING
MOOR_PLACES = 1 << Placement.TOP | 1 << Placement.TOP_SHARING | 1 << Placement.TOP_MOOR
MOOR_PLACES |= 1 << Placement.BOTTOM | 1 << Placement.BOTTOM_MOOR

VIEW = np.dtype(
    [
        ("w", np.float64, (FEATURES,)),  # the weights, here because passing an array on costs more than a record
        ("left", np.float64),  # expected share of the game to come
        ("point", np.float64),  # value of a point now
        ("card", np.float64),  # value of a card in hand
        ("hand_types", np.int64, (TYPES,)),  # halves in hand with the type
        ("hand_symbols", np.int64, (SYMBOLS + 1,)),  # halves in hand with the symbol
        ("demand", np.float64, (TYPES,)),  # points that halves in hand gain by one more card of the type
        ("symbol_demand", np.float64, (SYMBOLS + 1,)),
        ("kin", np.float64, (TYPES,)),  # share of own forest and hand with the type
        ("open", np.int64, (3,)),  # habitats with an open top, with an open bottom; open sides
        ("stranded", np.int64, (2,)),  # halves in hand without a place that a tree or shrub, a moor would give
        ("lead", np.int64),  # own moors less the most of another player
        ("value", np.float64, (HAND_LIMIT, HALVES)),  # of placing each half in hand
        ("effect", np.float64, (HAND_LIMIT, HALVES)),  # of what placing it sets off
        ("worth", np.float64, (HAND_LIMIT,)),  # of each hand card
        ("order", np.int64, (HAND_LIMIT,)),  # hand places by worth, least first
        ("best_of_type", np.float64, (TYPES,)),  # best value of placing a half in hand of the type
    ],
    align=True,
)
View = from_dtype(VIEW)

assert len(CardType) == TYPES and Feature.HOOFED == FIRST_TYPE + CardType.HOOFED


# The view


@njit(cache=True, nogil=True)
def share_left(state):
    """Return the expected share of the stack to come before the third winter, from what everyone sees.

    Before the first winter the last third is intact, and the third winter is expected two thirds down in it; after the
    first two winters are uniform in the rest, after the second one is.
    """
    rest = state.stack_n - state.stack_top
    whole = state.stack_n - state.stack_n / PILE - OPENING_HAND * state.players
    if state.winters == 0:
        return min(1.0, (rest - state.stack_n / PILE) / whole)
    if state.winters == 1:
        return rest * 2 / 3 / whole
    return rest / 2 / whole


@njit(cache=True, nogil=True)
def look(state, tables, player, view):
    """Fill a view, all zero but for its weights and time, with everything but the values of the hand."""
    look_at_hand(state, tables, player, view)
    look_at_slots(state, player, view)
    owned = 1.0 + state.hand_n[player] + count_forest(state, player)
    for kind in range(TYPES):
        view.kin[kind] = (state.type_n[player, kind] + view.hand_types[kind]) / owned
    most = 0
    for other in range(state.players):
        if other != player:
            most = max(most, state.type_n[other, CardType.MOOR])
    view.lead = np.int64(state.type_n[player, CardType.MOOR]) - most


@njit(cache=True, nogil=True)
def look_at_time(state, weights, view):
    """Take over the weights, and note how much of the game is left and what points and cards are worth at this time."""
    view.w[:] = weights[:FEATURES]
    view.left = share_left(state)
    gone = 1 - view.left
    view.point = view.w[Feature.POINTS] + view.w[Feature.POINTS_LATE] * gone
    view.card = view.w[Feature.CARDS] + view.w[Feature.CARDS_LATE] * gone


@njit(cache=True, nogil=True)
def count_forest(state, player):
    """Return the number of cards in a forest: every species has exactly one of the types added up here."""
    types = state.type_n[player]
    cards = types[CardType.TREE] + types[CardType.SHRUB] + types[CardType.MOOR] + types[CardType.BIRD]
    cards += types[CardType.BAT] + types[CardType.INSECT] + types[CardType.PLANT] + types[CardType.AMPHIBIAN]
    return cards + types[CardType.PAWED] + types[CardType.HOOFED]


@njit(cache=True, nogil=True)
def look_at_hand(state, tables, player, view):
    """Count the types, symbols, demands and stranded halves of the hand."""
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            species, symbol = tables.species[card, half], tables.symbol[card, half]
            view.hand_symbols[symbol] += 1
            for k in range(tables.type_count[species]):
                view.hand_types[tables.type_list[species, k]] += 1
            if not can_place(state, tables, player, card, half):
                place = tables.placement[species, half]
                view.stranded[0] += TREE_PLACES >> place & 1
                view.stranded[1] += MOOR_PLACES >> place & 1
            for term in range(TERMS):
                if tables.score_op[species, term] == ScoreOp.NONE:
                    break
                add_demand(state, tables, player, species, symbol, term, view)


@njit(cache=True, nogil=True)
def add_demand(state, tables, player, species, symbol, term, view):
    """Add what one scoring term of a half in hand asks for."""
    op, arg = tables.score_op[species, term], tables.score_arg[species, term]
    if op == ScoreOp.PER_SYMBOL:
        view.symbol_demand[arg] += tables.score_n[species, term]
    elif op == ScoreOp.PER_OWN_SYMBOL:
        view.symbol_demand[symbol] += tables.score_n[species, term]
    else:
        rate = type_rate(state, tables, player, species, term)
        if rate > 0:
            view.demand[arg] += rate


@njit(cache=True, nogil=True)
def type_rate(state, tables, player, species, term):
    """Return the points that a copy gains by one more card of the type its term counts; step scores over some cards."""
    op, arg = tables.score_op[species, term], tables.score_arg[species, term]
    if op == ScoreOp.PER_TYPE or op == ScoreOp.PER_SPECIES:
        return float(tables.score_n[species, term])
    if op == ScoreOp.TYPE_STEPS:
        count = state.type_n[player, arg]
    elif op == ScoreOp.SPECIES_STEPS:
        count = state.kinds_n[player, arg]
    else:
        return 0.0
    return (steps_points(tables, species, count + LOOK) - steps_points(tables, species, count)) / LOOK


@njit(cache=True, nogil=True)
def look_at_slots(state, player, view):
    """Count the habitats with an open top, an open bottom, and the open sides."""
    for i in range(state.habitats_n[player]):
        accepts = np.int64(state.accepts[state.habitats[player, i]])
        view.open[0] += accepts >> Placement.TOP & 1
        view.open[1] += accepts >> Placement.BOTTOM & 1
        view.open[2] += (accepts >> Placement.LEFT & 1) + (accepts >> Placement.RIGHT & 1)


# Placing one half


@njit(cache=True, nogil=True)
def place_value(state, tables, view, player, species, symbol, card):
    """Return the value of having `species`, a half of `card`, placed somewhere."""
    left = view.left
    gain = placement_gain(state, tables, player, species, symbol, NOWHERE, 0)
    value = view.point * gain
    value += growth(state, tables, view, player, species, symbol, card)
    kin = 0.0
    for i in range(tables.type_count[species]):
        kind = tables.type_list[species, i]
        kin = max(kin, view.kin[kind])
        value += view.w[FIRST_TYPE + kind] * left
    value += view.w[Feature.KIN] * kin * left
    value += slot_value(state, tables, view, species)
    triggers = tables.trigger_types[species]
    if triggers:
        value += view.w[Feature.TRIGGER_LATER] * left
        for kind in range(TYPES):
            if triggers >> kind & 1:
                value += view.w[Feature.TRIGGER_HAND] * view.hand_types[kind]
    return value


@njit(cache=True, nogil=True)
def growth(state, tables, view, player, species, symbol, card):
    """Return the value of points to come: the card's own, by cards in hand and later ones; those of halves in hand.

    A card that is in hand itself is counted in the view, and taken off here.
    """
    held = state.place[card] == Place.HAND + player
    hand, later = 0.0, 0.0
    helped = view.symbol_demand[symbol]
    types = np.int64(tables.types[species])
    for i in range(tables.type_count[species]):
        helped += view.demand[tables.type_list[species, i]]
    for term in range(TERMS):
        op, arg, n = tables.score_op[species, term], tables.score_arg[species, term], tables.score_n[species, term]
        if op == ScoreOp.NONE or op == ScoreOp.FIXED:
            break
        if op == ScoreOp.PER_SYMBOL or op == ScoreOp.PER_OWN_SYMBOL:
            wanted = arg if op == ScoreOp.PER_SYMBOL else symbol
            own = held and tables.symbols[card] >> wanted & 1
            hand += n * (view.hand_symbols[wanted] - own)
            later += n / SYMBOLS
            helped -= n if held and wanted == symbol else 0
        elif op == ScoreOp.PER_CAVE_CARD or op == ScoreOp.PER_CARD_BELOW:
            later += n
        else:
            rate = type_rate(state, tables, player, species, term)
            if rate > 0:
                own = held and tables.card_types[card] >> arg & 1
                hand += rate * (view.hand_types[arg] - own)
                later += rate * view.kin[arg]
                helped -= rate if held and types >> arg & 1 else 0.0
    value = view.w[Feature.GROW_HAND] * hand + view.w[Feature.GROW_LATER] * later * view.left
    return value + view.w[Feature.HELP_HAND] * helped


@njit(cache=True, nogil=True)
def slot_value(state, tables, view, species):
    """Return the value of the slots that a habitat opens, or that a half takes; and of the lead in moors."""
    slot = tables.slot[species]
    if slot == Slot.TREE or slot == Slot.SHRUB:
        value = view.w[Feature.OPEN_TOP] * opened(view.open[0], 1) + view.w[Feature.OPEN_BOTTOM] * opened(
            view.open[1], 1
        )
        value = (value + view.w[Feature.OPEN_SIDE] * opened(view.open[2], 2)) * view.left
        value += view.w[Feature.OPENS_HAND] * view.stranded[0]
        return value + view.w[Feature.REVEAL] if slot == Slot.TREE else value
    if slot == Slot.MOOR:
        value = view.w[Feature.OPEN_TOP] * opened(view.open[0], 2) + view.w[Feature.OPEN_BOTTOM] * opened(
            view.open[1], 2
        )
        lead = min(view.lead + 1, LEAD) - min(view.lead, LEAD) if view.lead >= -LEAD else 0
        return value * view.left + view.w[Feature.OPENS_HAND] * view.stranded[1] + view.w[Feature.MOOR_LEAD] * lead
    kind = slot - Slot.TOP
    return view.w[Feature.OPEN_TOP + kind] * opened(view.open[kind], -1) * view.left


@njit(cache=True, nogil=True)
def opened(k, more):
    """Return the change of k / (k + 2) when `more` slots open; none open, as beside a sharing card, stays none."""
    after = max(0, k + more)
    return after / (after + 2) - k / (k + 2)


# Effects


@njit(cache=True, nogil=True)
def effect_value(state, tables, view, player, op, types, n, card, hand_n):
    """Return the value of an effect or bonus at `hand_n` cards in hand; `card`, just played, is not placed by it."""
    if op == EffectOp.NONE:
        return 0.0
    if op == EffectOp.DRAW or op == EffectOp.DRAW_PER_TYPE:
        cards = n if op == EffectOp.DRAW else n * count_types(state, player, types)
        return drawn_value(view, cards, hand_n)
    if op == EffectOp.CLEARING_TO_HAND:
        return (view.w[Feature.TAKEN] + view.card) * min(n, HAND_LIMIT - hand_n)
    if op == EffectOp.EXTRA_TURN or op == EffectOp.EXTRA_TURN_IF_TYPE:
        earned = op == EffectOp.EXTRA_TURN or count_types(state, player, types) >= n
        return view.w[Feature.EXTRA_TURN] if earned else 0.0
    if op == EffectOp.MOOR_FROM_HAND:
        return view.w[Feature.FREE_MOOR] if hand_n > 0 else 0.0
    if op == EffectOp.CLEARING_TO_FOREST:
        return free_from_clearing(state, tables, view, types)
    if op == EffectOp.PLAY_FREE or op == EffectOp.PLAY_FREE_ANY_NUMBER or op == EffectOp.PLAY_FREE_WITH_EFFECT:
        return free_from_hand(tables, view, op, types, card)
    if op == EffectOp.HAND_TO_CLEARING or op == EffectOp.HAND_TO_CAVE:
        return n * ((op == EffectOp.HAND_TO_CAVE) * view.point - view.card)
    gain = cave_gain(state, tables, player, op, types, n)
    return view.point * gain + view.w[Feature.CAVE_CARDS] * gain * view.left


@njit(cache=True, nogil=True)
def drawn_value(view, cards, hand_n):
    """Return the value of cards drawn from the stack by an effect, up to the hand limit."""
    return (view.w[Feature.DRAWN] + view.card) * max(0, min(cards, HAND_LIMIT - hand_n))


@njit(cache=True, nogil=True)
def free_from_hand(tables, view, op, types, card):
    """Return the value of placing hand cards of the types free."""
    count, best = 0, 0.0
    for kind in range(TYPES):
        if types >> kind & 1:
            count += view.hand_types[kind] - (tables.card_types[card] >> kind & 1)
            best = max(best, view.best_of_type[kind])
    if count <= 0:
        return 0.0
    if op != EffectOp.PLAY_FREE_ANY_NUMBER:
        count = 1
    return view.w[Feature.FREE_CARD] * count + view.w[Feature.FREE_VALUE] * best


@njit(cache=True, nogil=True)
def free_from_clearing(state, tables, view, types):
    """Return the value of placing a card of the types from the clearing, if there is one now."""
    for i in range(state.clearing_n):
        if tables.card_types[state.clearing[i]] & types:
            return view.w[Feature.FREE_CARD]
    return 0.0


@njit(cache=True, nogil=True)
def played_effects(state, tables, view, player, species, card, hand_n):
    """Return the value of what placing a species sets off: its effect and the permanent effects that react to it."""
    op, types, n = tables.effect_op[species], tables.effect_types[species], tables.effect_n[species]
    value = effect_value(state, tables, view, player, op, types, n, card, hand_n)
    draws = 0
    for i in range(tables.type_count[species]):
        draws += state.trigger_n[player, tables.type_list[species, i]]
    return value + drawn_value(view, draws, hand_n) if draws > 0 else value


# Cards in hand and in the clearing


@njit(cache=True, nogil=True)
def half_worth(state, tables, view, player, card, half, value):
    """Return what holding a half is worth when placing it, effects included, has this value: less its cost in cards."""
    worth = value - tables.cost[tables.species[card, half]] * view.card
    return worth if can_place(state, tables, player, card, half) else worth * view.w[Feature.UNPLACED]


@njit(cache=True, nogil=True)
def effects_of_half(state, tables, view, player, card, half):
    """Return the value of what playing a half sets off, at the hand that is left after paying for it."""
    species = tables.species[card, half]
    hand_n = max(0, np.int64(state.hand_n[player]) - 1 - tables.cost[species])
    return played_effects(state, tables, view, player, species, card, hand_n)


@njit(cache=True, nogil=True)
def card_worth(state, tables, view, player, card):
    """Return the worth of a card that is not in hand: that of its better half, at least 0."""
    best = 0.0
    for half in range(tables.halves[card]):
        species, symbol = tables.species[card, half], tables.symbol[card, half]
        value = place_value(state, tables, view, player, species, symbol, card)
        value += effects_of_half(state, tables, view, player, card, half)
        best = max(best, half_worth(state, tables, view, player, card, half, value))
    return best


@njit(cache=True, nogil=True)
def value_hand(state, tables, view, player):
    """Fill the values of placing every half in hand, the worths of the hand cards, and their order."""
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            species, symbol = tables.species[card, half], tables.symbol[card, half]
            value = place_value(state, tables, view, player, species, symbol, card)
            view.value[i, half] = value
            if can_place(state, tables, player, card, half):
                for k in range(tables.type_count[species]):
                    kind = tables.type_list[species, k]
                    view.best_of_type[kind] = max(view.best_of_type[kind], value)
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            view.effect[i, half] = effects_of_half(state, tables, view, player, card, half)
            value = view.value[i, half] + view.effect[i, half]
            worth = half_worth(state, tables, view, player, card, half, value)
            view.worth[i] = max(view.worth[i], worth)
        put_in_order(view, np.int64(i))


@njit(cache=True, nogil=True)
def put_in_order(view, i):
    """Insert hand place `i` among the places before it, by worth; ties keep the order of cards."""
    k = i
    while k > 0 and view.worth[view.order[k - 1]] > view.worth[i]:
        view.order[k] = view.order[k - 1]
        k -= 1
    view.order[k] = i


@njit(cache=True, nogil=True)
def payment(state, tables, view, player, but, count, mask):
    """Return the worth of the `count` least worthy hand cards that show a symbol of the mask, or -1 if there are fewer.

    `but` is the hand place of the card played, -1 for none.
    """
    worth, found = 0.0, 0
    for k in range(state.hand_n[player]):
        if found == count:
            break
        i = view.order[k]
        if i != but and tables.symbols[state.hand[player, i]] & mask:
            worth += view.worth[i]
            found += 1
    return worth if found == count else -1.0


@njit(cache=True, nogil=True)
def shortage(view, hand_n):
    """Return the value of cards missing to a hand of four."""
    return view.w[Feature.SHORT_HAND] * max(0, ENOUGH - hand_n)


@njit(cache=True, nogil=True)
def gift_value(state, tables, view, player, card, more):
    """Return the value of leaving a card in the clearing, for the better half's points to the next player a card spent.

    `more` cards are still to come there; a clearing that will be emptied leaves nothing.
    """
    if view.w[Feature.CLEARING_GIFT] == 0.0 or state.clearing_n + more >= CLEARING_LIMIT:
        return 0.0
    other = (player + 1) % state.players
    best = 0.0
    for half in range(tables.halves[card]):
        if can_place(state, tables, other, card, half):
            species = tables.species[card, half]
            gain = placement_gain(state, tables, other, species, tables.symbol[card, half], NOWHERE, 0)
            best = max(best, gain / (1 + tables.cost[species]))
    return view.w[Feature.CLEARING_GIFT] * best
