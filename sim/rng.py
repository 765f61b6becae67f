"""Seeded random streams: SplitMix64 spreads a key, xoshiro256++ draws (Blackman and Vigna, 2019).

A stream is a uint64 array of shape (4,), seeded from (run seed, game index, stream), so that game 123 of seed 7 is the
same game whatever the threads, the chunks or the machine.
"""

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)
U17, U23, U27, U30, U31, U32, U45, U64 = (np.uint64(k) for k in (17, 23, 27, 30, 31, 32, 45, 64))
RANGE_32 = np.uint64(1 << 32)


@njit(cache=True, nogil=True)
def mix(z):
    """Return the SplitMix64 output for the counter `z` (uint64)."""
    z = (z ^ (z >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@njit(cache=True, nogil=True)
def seed_stream(rng, seed, game, stream):
    """Fill `rng` (uint64, (4,)) for one stream of one game; equal keys give equal streams."""
    key = mix(np.uint64(seed) + GOLDEN)
    key = mix((key ^ np.uint64(game)) + GOLDEN)
    key = mix((key ^ np.uint64(stream)) + GOLDEN)
    seed_from_key(rng, key)


@njit(cache=True, nogil=True)
def seed_from_key(rng, key):
    """Fill `rng` with the first four SplitMix64 outputs of `key`, as the authors of xoshiro advise."""
    for i in range(4):
        key += GOLDEN
        rng[i] = mix(key)


@njit(cache=True, nogil=True)
def rotate(x, k):
    """Rotate the uint64 `x` left by `k` bits."""
    return (x << k) | (x >> (U64 - k))


@njit(cache=True, nogil=True)
def next_uint64(rng):
    """Return the next xoshiro256++ output of `rng` and advance it."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    result = rotate(s0 + s3, U23) + s0
    s2 ^= s0
    s3 ^= s1
    rng[0] = s0 ^ s3
    rng[1] = s1 ^ s2
    rng[2] = s2 ^ (s1 << U17)
    rng[3] = rotate(s3, U45)
    return result


@njit(cache=True, nogil=True)
def below(rng, n):
    """Return a uniform int64 in 0..n-1 without bias, for 1 <= n < 2**32 (Lemire 2019, multiply and reject)."""
    bound = np.uint64(n)
    product = (next_uint64(rng) >> U32) * bound
    if (product & LOW_32) < bound:
        threshold = (RANGE_32 - bound) % bound
        while (product & LOW_32) < threshold:
            product = (next_uint64(rng) >> U32) * bound
    return np.int64(product >> U32)


@njit(cache=True, nogil=True)
def shuffle(rng, values, n):
    """Shuffle the first `n` entries of `values` in place (Fisher and Yates)."""
    for i in range(n - 1, 0, -1):
        j = below(rng, i + 1)
        values[i], values[j] = values[j], values[i]
