"""The features of the `weights` policy by name: what each measures, in one line.

A weight is the value, in points, of one unit of its feature in the position after the action. "Left" is the expected
share of the game still to come, 1 at the start and 0 at the third winter; "gone" is 1 less that.
"""

from enum import IntEnum


class Feature(IntEnum):
    """Index of each feature in a vector of weights."""

    # points
    POINTS = 0
    POINTS_LATE = 1
    GROW_HAND = 2
    GROW_LATER = 3
    HELP_HAND = 4
    KIN = 5
    # types, in the order of CardType
    TREE = 6
    SHRUB = 7
    MOOR = 8
    BIRD = 9
    BAT = 10
    INSECT = 11
    DRAGONFLY = 12
    PLANT = 13
    AMPHIBIAN = 14
    PAWED = 15
    MOUSE = 16
    RABBIT = 17
    HOOFED = 18
    # slots
    OPEN_TOP = 19
    OPEN_BOTTOM = 20
    OPEN_SIDE = 21
    OPENS_HAND = 22
    MOOR_SLOT = 23
    HOST_FILLED = 24
    # hand and tempo
    CARDS = 25
    CARDS_LATE = 26
    HAND_WORTH = 27
    UNPLACED = 28
    SHORT_HAND = 29
    DRAW_TURN = 30
    DRAW_LATE = 31
    UNSEEN = 32
    # effects
    DRAWN = 33
    TAKEN = 34
    EXTRA_TURN = 35
    FREE_CARD = 36
    FREE_VALUE = 37
    FREE_MOOR = 38
    TRIGGER_HAND = 39
    TRIGGER_LATER = 40
    # the table
    REVEAL = 41
    CLEARING_GIFT = 42
    CLEARING_FLUSH = 43
    MOOR_LEAD = 44
    CAVE_CARDS = 45


TEXTS = {
    Feature.POINTS: "points that the placement and its cave cards are worth now",
    Feature.POINTS_LATE: "the same points times the share of the game gone",
    Feature.GROW_HAND: "points that the card would gain from the hand cards of the types it counts",
    Feature.GROW_LATER: "points that the card would gain from later cards: by left and the share of those types",
    Feature.HELP_HAND: "points that the halves in hand would gain from this card's types and symbol",
    Feature.KIN: "share of own forest and hand that has a type of this card, times left",
    Feature.TREE: "a tree, times left",
    Feature.SHRUB: "a shrub, times left",
    Feature.MOOR: "a moor, times left",
    Feature.BIRD: "a bird, times left",
    Feature.BAT: "a bat, times left",
    Feature.INSECT: "an insect (dragonflies too), times left",
    Feature.DRAGONFLY: "a dragonfly, times left",
    Feature.PLANT: "a plant, times left",
    Feature.AMPHIBIAN: "an amphibian, times left",
    Feature.PAWED: "a pawed animal (mice and rabbits too), times left",
    Feature.MOUSE: "a mouse, times left",
    Feature.RABBIT: "a rabbit, times left",
    Feature.HOOFED: "a hoofed animal, times left",
    Feature.OPEN_TOP: "habitats k with an open top slot, as k / (k + 2), times left",
    Feature.OPEN_BOTTOM: "habitats k with an open bottom slot, as k / (k + 2), times left",
    Feature.OPEN_SIDE: "open left and right slots k, as k / (k + 2), times left",
    Feature.OPENS_HAND: "halves in hand that had no place and get one by this habitat",
    Feature.MOOR_SLOT: "a slot of a moor taken by a card that could live elsewhere",
    Feature.HOST_FILLED: "slots of the host already filled, where a card of it scores by a full habitat",
    Feature.CARDS: "cards in hand",
    Feature.CARDS_LATE: "cards in hand times the share of the game gone",
    Feature.HAND_WORTH: "worth of the cards in hand: each by its better half, at least 0",
    Feature.UNPLACED: "factor on the worth of a half that has no legal place now",
    Feature.SHORT_HAND: "cards missing to a hand of four",
    Feature.DRAW_TURN: "the turn is spent on drawing",
    Feature.DRAW_LATE: "the turn is spent on drawing, times the share of the game gone",
    Feature.UNSEEN: "worth assumed of a card from the stack",
    Feature.DRAWN: "cards drawn from the stack by effects, beside their count in hand",
    Feature.TAKEN: "cards taken from the clearing by effects, beside their count in hand",
    Feature.EXTRA_TURN: "an extra turn",
    Feature.FREE_CARD: "cards placed free by an effect or bonus",
    Feature.FREE_VALUE: "value of the best of the cards placed free",
    Feature.FREE_MOOR: "a hand card laid face down as a moor",
    Feature.TRIGGER_HAND: "halves in hand that a new permanent effect reacts to",
    Feature.TRIGGER_LATER: "a new permanent effect, times left",
    Feature.REVEAL: "a tree turns the top of the stack into the clearing",
    Feature.CLEARING_GIFT: "points that a card left in the clearing is worth to the next player",
    Feature.CLEARING_FLUSH: "the clearing reaches ten cards and is emptied",
    Feature.MOOR_LEAD: "moors ahead of the best other player, between -2 and 2",
    Feature.CAVE_CARDS: "cards put into the cave, times left",
}

NAMES = tuple(feature.name.lower() for feature in Feature)

assert list(TEXTS) == list(Feature)
