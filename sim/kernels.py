"""Every module of the engine with kernels, imported: all are declared in the engine's own cache directory."""

from sim import actions, cards, deal, effects, forest, gain, legal, machine, play, rng, scoring

__all__ = ["actions", "cards", "deal", "effects", "forest", "gain", "legal", "machine", "play", "rng", "scoring"]
