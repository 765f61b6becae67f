"""Forests: which slots take what (rulebook, Slots), and laying a card down with every counter it changes."""

import numpy as np
from numba import njit

from sim.codes import CardType, Face, MoorSlot, Place, Placement, ScoreOp, Share, Symbol, TreeSlot
from sim.rules import DECK_SIZE, SLOTS, TYPES, UNIVERSAL_MOOR

TERMS = 2
NO_SYMBOL = int(Symbol.NONE)
MOOR_BIT = 1 << CardType.MOOR
BIRD_BIT = 1 << CardType.BIRD
HABITAT_MASK = 1 << Placement.HABITAT
TOP_MASK = 1 << Placement.TOP | 1 << Placement.TOP_SHARING
TOP_MOOR_MASK = TOP_MASK | 1 << Placement.TOP_MOOR
TOP_SHARING_MASK = 1 << Placement.TOP_SHARING
CUCKOO_MASK = 1 << Placement.TOP_CUCKOO
BOTTOM_MASK = 1 << Placement.BOTTOM
BOTTOM_MOOR_MASK = BOTTOM_MASK | 1 << Placement.BOTTOM_MOOR
LEFT_MASK = 1 << Placement.LEFT | 1 << Placement.LEFT_SHARING
LEFT_SHARING_MASK = 1 << Placement.LEFT_SHARING
RIGHT_MASK = 1 << Placement.RIGHT | 1 << Placement.RIGHT_SHARING
RIGHT_SHARING_MASK = 1 << Placement.RIGHT_SHARING


@njit(cache=True, nogil=True)
def visible_species(state, tables, card):
    """Return the species that a card in a forest shows."""
    if state.face[card] == Face.DOWN:
        return UNIVERSAL_MOOR
    return tables.species[card, state.face[card]]


@njit(cache=True, nogil=True)
def visible_symbol(state, tables, card):
    """Return the tree symbol that a card in a forest shows; the back shows none."""
    if state.face[card] == Face.DOWN:
        return NO_SYMBOL
    return tables.symbol[card, state.face[card]]


@njit(cache=True, nogil=True)
def is_moor(state, tables, habitat):
    """Return whether the habitat is a moor, universal moors included."""
    return tables.types[visible_species(state, tables, habitat)] & MOOR_BIT != 0


@njit(cache=True, nogil=True)
def is_bottom(moor, slot):
    """Return whether a slot is a bottom slot; `moor` says whose numbering it has (RIGHT and BOTTOM2 share a number)."""
    return slot == TreeSlot.BOTTOM or (moor and slot == MoorSlot.BOTTOM2)


@njit(cache=True, nogil=True)
def slot_accepts(state, tables, habitat, slot):
    """Return the mask of placements that one slot of a habitat takes now."""
    if is_moor(state, tables, habitat):
        if slot == MoorSlot.TOP or slot == MoorSlot.TOP2:
            return top_accepts(state, habitat, slot, TOP_MOOR_MASK)
        return BOTTOM_MOOR_MASK if state.slot_n[habitat, slot] == 0 else 0
    if slot == TreeSlot.TOP:
        mask = top_accepts(state, habitat, slot, TOP_MASK)
        return mask | CUCKOO_MASK if takes_cuckoo(state, tables, habitat) else mask
    if slot == TreeSlot.BOTTOM:
        return BOTTOM_MASK if state.slot_n[habitat, slot] == 0 else 0
    if slot == TreeSlot.LEFT:
        return side_accepts(state, habitat, slot, LEFT_MASK, LEFT_SHARING_MASK)
    return side_accepts(state, habitat, slot, RIGHT_MASK, RIGHT_SHARING_MASK)


@njit(cache=True, nogil=True)
def top_accepts(state, habitat, slot, empty_mask):
    """A top slot takes one species; beside Water Soldiers also dragonflies while it holds only dragonflies."""
    if state.slot_n[habitat, slot] == 0:
        return empty_mask
    return TOP_SHARING_MASK if state.slot_types[habitat, slot] & state.shares_top[habitat] else 0


@njit(cache=True, nogil=True)
def side_accepts(state, habitat, slot, empty_mask, sharing_mask):
    """A side slot takes one species; beside a Dartmoor Badger also rabbits, whatever it holds."""
    if state.slot_n[habitat, slot] == 0:
        return empty_mask
    return sharing_mask if state.shares_sides[habitat] else 0


@njit(cache=True, nogil=True)
def takes_cuckoo(state, tables, habitat):
    """Return whether a Cuckoo may come to a tree or shrub (rulings cuckoo_bird, cuckoo_per_habitat).

    It shares the top slot with another bird; where a bird in a side slot will do, an empty top slot serves too.
    """
    if state.cuckoos[habitat] > 0 and tables.cuckoo_per_habitat == 0:
        return False
    if tables.cuckoo_bird == 0:
        return state.birds_top[habitat] > 0
    top_is_open = state.slot_n[habitat, TreeSlot.TOP] == 0 or state.slot_types[habitat, TreeSlot.TOP] & BIRD_BIT
    return state.birds_any[habitat] > 0 and top_is_open


@njit(cache=True, nogil=True)
def update_accepts(state, tables, player, habitat):
    """Refresh what one habitat, and so the forest, accepts."""
    mask = 0
    for slot in range(SLOTS):
        mask |= slot_accepts(state, tables, habitat, slot)
    state.accepts[habitat] = mask
    mask = HABITAT_MASK
    for i in range(state.habitats_n[player]):
        mask |= state.accepts[state.habitats[player, i]]
    state.placeable[player] = mask


@njit(cache=True, nogil=True)
def can_place(state, tables, player, card, half):
    """Return whether a half of a card has a legal place in the player's forest."""
    return state.placeable[player] >> tables.placement[tables.species[card, half], half] & 1 != 0


@njit(cache=True, nogil=True)
def place(state, tables, player, card, face, habitat, slot):
    """Lay a card into a forest and update every counter.

    A tree, shrub, moor or (face DOWN) universal moor names itself as `habitat`, with slot 0. Legality is the caller's.
    """
    state.place[card] = Place.FOREST + player
    state.face[card] = face
    state.host[card] = habitat
    state.slot[card] = slot
    species = visible_species(state, tables, card)
    symbol = visible_symbol(state, tables, card)
    count_species(state, tables, player, species, symbol)
    if habitat == card:
        state.habitats[player, state.habitats_n[player]] = card
        state.habitats_n[player] += 1
        count_worth(state, tables, player, species, symbol, habitat, 1)
    else:
        moor = is_moor(state, tables, habitat)
        doubled = is_bottom(moor, slot) and scores_twice(state, tables, species, habitat)
        count_worth(state, tables, player, species, symbol, habitat, 2 if doubled else 1)
        state.doubled_n[player, species] += doubled
        state.in_moor_n[player, species] += moor
        state.below_n[player] += is_bottom(moor, slot)
        add_to_slot(state, tables, player, species, habitat, slot)
    count_triggers(state, tables, player, species)
    update_accepts(state, tables, player, habitat)


@njit(cache=True, nogil=True)
def scores_twice(state, tables, species, habitat):
    """Return whether a species scores twice in a bottom slot of this habitat (Blanket Bog)."""
    return tables.doubles[visible_species(state, tables, habitat)] & tables.types[species] != 0


@njit(cache=True, nogil=True)
def add_to_slot(state, tables, player, species, habitat, slot):
    """Put a species into a slot and keep what the slots of this habitat say."""
    was_full = is_full(state, habitat)
    types = tables.types[species]
    if state.slot_n[habitat, slot] > 0:
        types &= state.slot_types[habitat, slot]
    state.slot_types[habitat, slot] = types
    state.slot_n[habitat, slot] += 1
    count_birds(state, tables, species, habitat, slot)
    grant_sharing(state, tables, player, species, habitat)
    if was_full:
        if has_term(tables, species, ScoreOp.HOST_FULL):
            state.full_n[player, species] += 1
    elif is_full(state, habitat):
        count_full(state, tables, player, habitat)


@njit(cache=True, nogil=True)
def is_full(state, habitat):
    """A habitat is fully occupied when each of its four slots holds at least one card."""
    for slot in range(SLOTS):
        if state.slot_n[habitat, slot] == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def has_term(tables, species, op):
    """Return whether a species scores by the ScoreOp `op`."""
    return tables.score_op[species, 0] == op or tables.score_op[species, 1] == op


@njit(cache=True, nogil=True)
def count_full(state, tables, player, habitat):
    """A habitat became fully occupied: count its cards that score by that."""
    if state.full_worth[habitat] == 0:
        return
    for card in range(DECK_SIZE):
        if state.host[card] == habitat and state.place[card] == Place.FOREST + player:
            species = visible_species(state, tables, card)
            if has_term(tables, species, ScoreOp.HOST_FULL):
                state.full_n[player, species] += 1


@njit(cache=True, nogil=True)
def count_birds(state, tables, species, habitat, slot):
    """Keep what a Cuckoo asks of a habitat."""
    if tables.is_cuckoo[species]:
        state.cuckoos[habitat] += 1
    elif tables.types[species] & BIRD_BIT:
        state.birds_any[habitat] += 1
        if slot == TreeSlot.TOP:
            state.birds_top[habitat] += 1


@njit(cache=True, nogil=True)
def grant_sharing(state, tables, player, species, habitat):
    """A permanent leave to share slots of this habitat works from the moment its species is there."""
    if tables.share[species] == Share.SIDES:
        state.shares_sides[habitat] |= tables.share_types[species]
    elif tables.share[species] == Share.TOP:
        state.shares_top[habitat] |= tables.share_types[species]
        if tables.late_water_soldiers == 1 and is_moor(state, tables, habitat):
            merge_top_slots(state, tables, player, habitat)


@njit(cache=True, nogil=True)
def merge_top_slots(state, tables, player, habitat):
    """Ruling late_water_soldiers=merge: dragonflies in both top slots of a moor move together into the first.

    The moor was not fully occupied before: the species that grants the leave has just taken an empty bottom slot.
    """
    shared = state.shares_top[habitat]
    first, second = state.slot_types[habitat, MoorSlot.TOP], state.slot_types[habitat, MoorSlot.TOP2]
    if state.slot_n[habitat, MoorSlot.TOP2] == 0 or first & shared == 0 or second & shared == 0:
        return
    for card in range(DECK_SIZE):
        if (
            state.host[card] == habitat
            and state.slot[card] == MoorSlot.TOP2
            and (state.place[card] == Place.FOREST + player)
        ):
            state.slot[card] = MoorSlot.TOP
    state.slot_n[habitat, MoorSlot.TOP] += state.slot_n[habitat, MoorSlot.TOP2]
    state.slot_types[habitat, MoorSlot.TOP] = first & second
    state.slot_n[habitat, MoorSlot.TOP2] = 0
    state.slot_types[habitat, MoorSlot.TOP2] = 0


@njit(cache=True, nogil=True)
def count_species(state, tables, player, species, symbol):
    """Count a visible species, its types and its symbol."""
    is_new = state.species_n[player, species] == 0
    state.species_n[player, species] += 1
    state.symbol_n[player, symbol] += 1
    for i in range(tables.type_count[species]):
        kind = tables.type_list[species, i]
        state.type_n[player, kind] += 1
        state.kinds_n[player, kind] += is_new


@njit(cache=True, nogil=True)
def count_worth(state, tables, player, species, symbol, habitat, times):
    """Add the linear scoring terms of a new copy, `times` 2 if it scores twice, to what further cards are worth."""
    for term in range(TERMS):
        op = tables.score_op[species, term]
        n = tables.score_n[species, term] * times
        if op == ScoreOp.PER_TYPE:
            state.type_worth[player, tables.score_arg[species, term]] += n
        elif op == ScoreOp.PER_SYMBOL:
            state.symbol_worth[player, tables.score_arg[species, term]] += n
        elif op == ScoreOp.PER_OWN_SYMBOL:
            state.own_symbol_n[player, symbol] += 1
            state.symbol_worth[player, symbol] += n
        elif op == ScoreOp.HOST_FULL:
            state.full_worth[habitat] += n
        elif op == ScoreOp.PER_CARD_BELOW:
            state.below_worth[player] += n
        elif op == ScoreOp.PER_CAVE_CARD:
            state.cave_worth[player] += n


@njit(cache=True, nogil=True)
def count_triggers(state, tables, player, species):
    """Count a new permanent effect; it is fresh until the turn ends (ruling new_permanents)."""
    types = tables.trigger_types[species]
    if types:
        for kind in range(TYPES):
            if types >> kind & 1:
                state.trigger_n[player, kind] += 1
                state.fresh_n[kind] += 1


@njit(cache=True, nogil=True)
def count_reactions(state, tables, player, species):
    """Return how many permanent effects of the forest draw when `species` is about to be placed."""
    draws = 0
    for i in range(tables.type_count[species]):
        kind = tables.type_list[species, i]
        draws += np.int64(state.trigger_n[player, kind])
        if tables.new_permanents == 1:
            draws -= np.int64(state.fresh_n[kind])
    return draws
