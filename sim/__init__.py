"""The engine: rules, data, game record and kernels of *Forest Shuffle: Dartmoor*.

Importing the package names numba's cache directory, which has to happen before numba itself is imported.
"""

from sim.cache import use_kernel_cache

__version__ = "0.1.0"
ENGINE_VERSION = 1  # raised by every change after which the same seed plays a different game

KERNEL_CACHE = use_kernel_cache()
