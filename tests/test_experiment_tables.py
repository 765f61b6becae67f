"""The experiments' tables in words that a player understands."""

import pytest

from experiments.experiment_tables import ENDINGS, winter_tables
from experiments.options import make_setting, make_world
from experiments.precision import make_plan
from experiments.summary import ENDINGS as COUNTED
from experiments.winter import winter


@pytest.fixture(scope="module")
def document():
    return winter(make_setting(make_world(), 2, "random"), make_plan(100), 2).document


def test_every_ending_is_told_in_words(document):
    assert list(ENDINGS) == [ending.name.lower() for ending in COUNTED]
    endings = winter_tables(document)[-1]
    assert list(endings.columns[0].cells) == list(ENDINGS.values())


@pytest.mark.parametrize(
    ("p", "outside", "words"),
    [
        (0.9767, 0, "agrees with theory (p = 0.98)"),
        (0.0042, 0, "agrees with theory (p = 0.004)"),
        (0.0009, 0, "does NOT agree with theory (p < 0.001)"),
        (0.5, 3, "does NOT agree with theory (impossible in 3 games)"),
        (None, 0, "cannot be compared with theory, too few games"),
    ],
)
def test_check_against_theory_is_told_in_words(document, p, outside, words):
    changed = document | {"law_test": document["law_test"] | {"p_value": p, "outside": outside}}
    caption = winter_tables(changed)[-1].caption
    assert caption.startswith(f"check: the depth of the third winter {words}\n")
