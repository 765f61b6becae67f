"""Policies: what a player does with its choices, as plug-ins of the engine."""
