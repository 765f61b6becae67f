"""Every coded value of the game, as IntEnums. Kernels and tables hold these numbers, never names.

Source: rulebook and card appendix, as data in `sim/data`; the decision machine in `docs/decisions.md`.
"""

from enum import IntEnum


class CardType(IntEnum):
    """Types a species can have; a type mask has bit `1 << type` for each."""

    TREE = 0
    SHRUB = 1
    MOOR = 2
    BIRD = 3
    BAT = 4
    INSECT = 5
    DRAGONFLY = 6
    PLANT = 7
    AMPHIBIAN = 8
    PAWED = 9
    MOUSE = 10
    RABBIT = 11
    HOOFED = 12


class Symbol(IntEnum):
    """Tree symbols; NONE is an entry of a forest file without one, and the back of a universal moor."""

    CRAB_APPLE = 0
    ASH = 1
    SESSILE_OAK = 2
    BLACK_ALDER = 3
    MOOR_BIRCH = 4
    GOAT_WILLOW = 5
    NONE = 6


class Kind(IntEnum):
    """Kinds of deck cards."""

    TREE = 0
    SHRUB = 1
    LEFT_RIGHT = 2
    TOP_BOTTOM = 3
    MOOR = 4


class Slot(IntEnum):
    """Column `slot` of species.csv: where a species lives."""

    TREE = 0
    SHRUB = 1
    MOOR = 2
    TOP = 3
    BOTTOM = 4
    SIDE = 5


class TreeSlot(IntEnum):
    """Places of a tree or shrub, an index into `slot_n`."""

    TOP = 0
    BOTTOM = 1
    LEFT = 2
    RIGHT = 3


class MoorSlot(IntEnum):
    """Places of a moor, an index into `slot_n`; the first of a pair fills first."""

    TOP = 0
    BOTTOM = 1
    TOP2 = 2
    BOTTOM2 = 3


class Placement(IntEnum):
    """What a half needs from a habitat; a mask of `1 << placement` says what a habitat accepts now."""

    HABITAT = 0  # a tree, shrub or moor: always
    TOP = 1
    TOP_MOOR = 2  # moor_only
    TOP_SHARING = 3  # a dragonfly: an empty top slot, or one with only dragonflies beside Water Soldiers
    TOP_CUCKOO = 4
    BOTTOM = 5
    BOTTOM_MOOR = 6  # moor_only
    LEFT = 7
    RIGHT = 8
    LEFT_SHARING = 9  # a rabbit: an empty left slot, or any left slot beside a Dartmoor Badger
    RIGHT_SHARING = 10


class ScoreOp(IntEnum):
    """How one scoring term of a species counts; `n`, `arg` and `steps` are columns of the tables."""

    NONE = 0
    FIXED = 1  # n
    PER_TYPE = 2  # n for each card of type arg
    PER_SYMBOL = 3  # n for each visible species with symbol arg
    PER_OWN_SYMBOL = 4  # n for each visible species with the symbol of this copy
    HOST_FULL = 5  # n if its habitat is fully occupied
    IN_MOOR = 6  # n if its habitat is a moor
    MOST_MOORS = 7  # steps[1] with the most moors or tied for it, else steps[0]
    TYPE_STEPS = 8  # steps[cards of type arg]
    SPECIES_STEPS = 9  # steps[different species of type arg]
    PER_SPECIES = 10  # n for each different species of type arg
    COPIES_STEPS = 11  # all copies together: steps[copies]
    SETS = 12  # sets of different species, pooled over all species with this term: steps[size]
    PER_CAVE_CARD = 13  # n for each card in the cave
    PER_CARD_BELOW = 14  # n for each card in a bottom slot


class EffectOp(IntEnum):
    """What an effect, a bonus or a cave does; `n` and `types` are its operands."""

    NONE = 0
    DRAW = 1  # n cards from the stack
    DRAW_PER_TYPE = 2  # n for each card of the types in the forest
    CLEARING_TO_HAND = 3
    PLAY_FREE = 4  # one hand card of the types
    PLAY_FREE_ANY_NUMBER = 5
    PLAY_FREE_WITH_EFFECT = 6
    CLEARING_TO_FOREST = 7
    CLEARING_TO_CAVE = 8
    CLEARING_TYPE_TO_CAVE = 9  # every card of the types in the clearing
    STACK_TO_CAVE = 10
    STACK_TO_CAVE_PER_TYPE = 11
    MOOR_FROM_HAND = 12
    EXTRA_TURN = 13
    EXTRA_TURN_IF_TYPE = 14  # with at least n cards of the types in the forest
    HAND_TO_CLEARING = 15  # cave 3
    HAND_TO_CAVE = 16  # caves of the user's
    # Steps of the machine itself, never found in the data:
    REVEAL = 17  # a tree was placed: the top stack card goes into the clearing
    TRIGGERED_DRAW = 18  # permanent effects draw n
    END_TURN = 19
    OPENING = 20  # the opening effect of the next cave
    SWAP_DRAW = 21
    SWAP_DISCARD = 22


class Share(IntEnum):
    """Permanent leave to share a slot at the same habitat."""

    NONE = 0
    TOP = 1  # the types may share a top slot that holds only them (Water Soldiers)
    SIDES = 2  # the types may join any left or right slot (Dartmoor Badger)


class Phase(IntEnum):
    """What the machine waits for."""

    RESOLVE = 0  # nothing: `advance` goes on
    CAVE = 1
    TURN = 2
    DRAW = 3
    CARD = 4
    PAY = 5
    HOST = 6
    FREE = 7
    MOOR = 8
    TAKE = 9
    STORE = 10
    DISCARD = 11
    HIDE = 12
    OVER = 13


class Act(IntEnum):
    """Kinds of answers; an action is `act << 16 | card << 8 | detail`."""

    CAVE = 0  # card: index of the cave in the tables
    DRAW = 1
    PLAY = 2
    SWAP = 3
    STACK = 4
    CLEARING = 5
    STOP = 6
    CARD = 7  # detail: half
    PAY = 8
    HOST = 9  # card: the habitat's card; detail: slot
    MOOR = 10
    DECLINE = 11
    TAKE = 12
    STORE = 13
    DISCARD = 14
    HIDE = 15


class Ending(IntEnum):
    """What revealed the third winter."""

    NONE = 0
    DRAW = 1  # the draw action or the swap
    TREE = 2
    EFFECT = 3  # effect, bonus or permanent
    CAVE = 4  # a card on its way from the stack to a cave


class Place(IntEnum):
    """Where a card is; hand, forest and cave of player p are the code plus p."""

    BOX = 0
    STACK = 1
    CLEARING = 2
    DISCARD = 3
    IN_PLAY = 4
    WINTER = 5  # a winter laid beside the clearing
    HAND = 8
    FOREST = 16
    CAVE = 24


class Face(IntEnum):
    """Which side of a card in a forest is visible."""

    FIRST = 0
    SECOND = 1
    DOWN = 2  # universal moor


class Fate(IntEnum):
    """Bits of `fate[player, card]`: how a card came to a player and what became of it."""

    OPENING = 1  # among the six cards at the start
    FROM_STACK = 2
    FROM_CLEARING = 4
    PLAYED = 8  # paid for
    PLAYED_FREE = 16
    FACE_DOWN = 32  # played as a universal moor
    PAID_AWAY = 64  # paid, swapped away or discarded
    CAVE = 128  # put into this player's cave


class CaveMode(IntEnum):
    """How players come to their caves."""

    DRAFT = 0
    RANDOM = 1  # seat i has the i-th cave dealt
    GIVEN = 2
