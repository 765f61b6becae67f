"""Errors that are the user's to mend."""


class DartmoorError(ValueError):
    """A mistake in what a user gave: one line that names the place and the valid choices.

    The command line prints the message and exits with code 2.
    """
