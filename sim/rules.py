"""The rulebook's numbers by name (rulebook, sections Setup, A turn, Winter)."""

MIN_PLAYERS = 2
MAX_PLAYERS = 5
DECK_SIZE = 172
WINTERS = 3
STACK_SIZE = DECK_SIZE + WINTERS  # winters are cards 172, 173 and 174 of a stack
OPENING_HAND = 6
HAND_LIMIT = 10
CLEARING_LIMIT = 10  # with that many cards the clearing is emptied at the end of a turn
DRAWS_PER_TURN = 2
SWAPPED_CARDS = 2
CARDS_TO_BOX = (0, 0, 45, 30, 15, 0)  # by number of players
SLOTS = 4  # of every habitat
HALVES = 2
TYPES = 13
SYMBOLS = 6
MAX_STEPS = 16  # a step table counts to 15; more counts as 15
SPECIES = 66  # species codes 0..65, in the order of species.csv
UNIVERSAL_MOOR = 66  # the species code of a card laid face down
MAX_CAVES = 32  # five in the box; a caves file may name more
CAVE_STEPS = 4  # opening effects of one cave
SHARES = 60  # a win is 60 shares, so that 2, 3, 4 or 5 tied winners share it exactly
