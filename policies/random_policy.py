"""The random player: uniform over the legal actions of every decision."""

from sim.policy import policy
from sim.rng import below


@policy
def random_policy(state, tables, actions, n, weights):
    """Choose uniformly, from the player's own stream."""
    return below(state.rng[1 + state.player], n)
