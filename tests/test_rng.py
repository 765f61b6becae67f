"""Random streams: published vectors, an independent implementation, unbiased draws, distinct streams."""

import numpy as np
import pytest
from numba import njit
from scipy.stats import chisquare

from sim.rng import GOLDEN, below, mix, next_uint64, seed_from_key, seed_stream, shuffle

MASK = 2**64 - 1
# First outputs for seed 1234567 and for state 1, 2, 3, 4: test vectors that many implementations share.
SPLITMIX64 = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
XOSHIRO256PP = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]
RARELY = 1e-4  # a fixed seed whose chance of so bad a fit is below this would be a suspicious one
DRAWS = 200_000


class PlainSplitMix:
    """SplitMix64 in plain Python (Steele, Lea and Flood, 2014)."""

    def __init__(self, seed: int) -> None:
        self.counter = seed

    def next(self) -> int:
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & MASK
        z = self.counter
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


class PlainXoshiro:
    """xoshiro256++ in plain Python (Blackman and Vigna, 2019)."""

    def __init__(self, state: list[int]) -> None:
        self.s = list(state)

    def next(self) -> int:
        s = self.s
        total = (s[0] + s[3]) & MASK
        result = (self.rotated(total, 23) + s[0]) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = self.rotated(s[3], 45)
        return result

    @staticmethod
    def rotated(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & MASK


@njit(cache=True, nogil=True)
def draw_outputs(rng, values):
    """Fill `values` (uint64) with the next outputs of `rng`."""
    for i in range(len(values)):
        values[i] = next_uint64(rng)


@njit(cache=True, nogil=True)
def draw_below(rng, n, values):
    """Fill `values` (int64) with draws below n."""
    for i in range(len(values)):
        values[i] = below(rng, n)


def outputs(state, n):
    """Return the next n outputs of a generator that starts from `state`."""
    rng = np.array(state, np.uint64)
    values = np.zeros(n, np.uint64)
    draw_outputs(rng, values)
    return values.tolist()


def stream(seed, game, number):
    """Return the state of a stream."""
    rng = np.zeros(4, np.uint64)
    seed_stream(rng, np.uint64(seed), game, number)
    return rng


def test_splitmix64_vectors():
    plain = PlainSplitMix(1234567)
    assert [plain.next() for _ in SPLITMIX64] == SPLITMIX64
    counters = np.uint64(1234567) + np.arange(1, len(SPLITMIX64) + 1, dtype=np.uint64) * GOLDEN
    assert [int(mix(counter)) for counter in counters] == SPLITMIX64


def test_xoshiro256pp_vectors():
    plain = PlainXoshiro([1, 2, 3, 4])
    assert [plain.next() for _ in XOSHIRO256PP] == XOSHIRO256PP
    assert outputs([1, 2, 3, 4], len(XOSHIRO256PP)) == XOSHIRO256PP


def test_a_seed_fills_the_state_with_splitmix64():
    rng = np.zeros(4, np.uint64)
    seed_from_key(rng, np.uint64(1234567))
    assert rng.tolist() == SPLITMIX64[:4]


@pytest.mark.parametrize("key", [0, 1, 1234567, MASK])
def test_a_long_run_agrees_with_plain_python(key):
    plain = PlainSplitMix(key)
    state = [plain.next() for _ in range(4)]
    reference = PlainXoshiro(state)
    assert outputs(state, 5000) == [reference.next() for _ in range(5000)]


@pytest.mark.parametrize("seed, game, number", [(0, 0, 0), (7, 123, 2), (2**63, 2**40, 5)])
def test_a_stream_is_its_key_mixed(seed, game, number):
    key = 0
    for part in (seed, game, number):
        key = PlainSplitMix(key ^ part).next()
    plain = PlainSplitMix(key)
    assert stream(seed, game, number).tolist() == [plain.next() for _ in range(4)]


def test_streams_of_neighbouring_keys_differ():
    keys = [(seed, game, number) for seed in range(12) for game in range(12) for number in range(6)]
    first = {tuple(outputs(stream(*key), 2)) for key in keys}
    assert len(first) == len(keys)
    words = [int(value) for key in keys for value in stream(*key)]
    assert len(set(words)) == len(words)


def test_neighbouring_streams_are_unrelated():
    """Each bit of the first outputs of two neighbouring games agrees in half of the cases."""
    games = 4000
    values = np.array([outputs(stream(1, game, 0), 1)[0] for game in range(games)], np.uint64)
    different = values[1:] ^ values[:-1]
    ones = np.array([int((different >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)])
    z = (ones - (games - 1) / 2) / np.sqrt((games - 1) / 4)
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 10, 60, 172, 175])
def test_below_is_even_over_its_range(n):
    values = np.zeros(DRAWS, np.int64)
    draw_below(stream(3, n, 0), n, values)
    assert values.min() >= 0 and values.max() < n
    if n > 1:
        assert chisquare(np.bincount(values, minlength=n)).pvalue > RARELY


@pytest.mark.parametrize("n", [3 * 2**30, 2**32 - 1, 2**31 + 1])
def test_below_rejects_what_would_be_biased(n):
    """Without rejection, draws below 3/4 of 2^32 would hit some values twice as often as others."""
    values = np.zeros(DRAWS, np.int64)
    draw_below(stream(4, 0, 0), n, values)
    assert values.min() >= 0 and values.max() < n
    assert chisquare(np.bincount(values * 16 // n, minlength=16)).pvalue > RARELY
    thirds = np.bincount(values % 3, minlength=3)
    assert chisquare(thirds).pvalue > RARELY


def test_below_agrees_with_lemire_in_plain_python():
    for n in (3, 172, 3 * 2**30):
        rng = PlainXoshiro(stream(5, n, 0).tolist())
        values = np.zeros(2000, np.int64)
        draw_below(stream(5, n, 0), n, values)
        for value in values.tolist():
            product = (rng.next() >> 32) * n
            while product % 2**32 < 2**32 % n:
                product = (rng.next() >> 32) * n
            assert value == product >> 32


def test_every_order_of_a_shuffle_is_equally_likely():
    rng = stream(6, 0, 0)
    orders = np.zeros(256, np.int64)
    for _ in range(24_000):
        values = np.arange(4, dtype=np.uint8)
        shuffle(rng, values, 4)
        assert sorted(values) == [0, 1, 2, 3]
        orders[int(values @ np.array([64, 16, 4, 1]))] += 1
    assert chisquare(orders[orders > 0]).pvalue > RARELY and (orders > 0).sum() == 24


def test_a_shuffle_leaves_the_rest_alone():
    values = np.arange(10, dtype=np.uint8)
    shuffle(stream(8, 0, 0), values, 6)
    assert sorted(values[:6]) == list(range(6)) and values[6:].tolist() == [6, 7, 8, 9]
