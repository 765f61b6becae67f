"""Policies: what a player does with its choices, as plug-ins of the engine.

Importing the package declares the engine's kernels, then names another cache directory for all kernels above them.
"""

import sim.kernels  # noqa: F401
from sim.cache import ALL, use_kernel_cache

KERNEL_CACHE = use_kernel_cache(ALL)
