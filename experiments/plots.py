"""Pictures of the experiments, as PNG bytes (needs matplotlib, extra `plot`). Every point has its interval."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pandas as pd

from sim.errors import DartmoorError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.results import Result

DOTS_PER_INCH = 150
HALF_LIT = 0.5  # cells brighter than this take dark letters
INK, ACCENT, PALE = "#1f2d24", "#2f6f4f", "#9db8a7"


def check_matplotlib() -> None:
    """Refuse with a remedy if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise DartmoorError(
            "--plot: needs matplotlib; install it with: pip install '.[plot]' in the project's folder"
        ) from None


def winrate_pictures(result: Result) -> dict[str, bytes]:
    """Return the win-rate heatmap."""
    return {"winrate.png": heatmap(result.frames["summary"], result.document["fair_share"])}


def winter_pictures(result: Result) -> dict[str, bytes]:
    """Return the winter curves and what ended the games."""
    return {
        "winter.png": winter_curves(result.frames["distributions"], result.stop.games),
        "more_turns.png": more_turns(result.frames["more_turns"]),
    }


def cave_pictures(result: Result) -> dict[str, bytes]:
    """Return the forest plot of all pairs of caves, and of the caves themselves."""
    return {"caves.png": cave_forest(result.frames["pairs"])}


def heatmap(matrix: pd.DataFrame, fair: float) -> bytes:
    """Return the matrix of win shares in per cent, the interval in each cell; white is the fair share.

    Columns of `matrix`: row, column, win_share, win_share_low, win_share_high.
    """
    names = list(dict.fromkeys(matrix["row"]))
    figure, axes = _figure(2.5 + 1.5 * len(names), 1.5 + 0.9 * len(names))
    values = matrix.pivot(index="row", columns="column", values="win_share").loc[names, names].to_numpy()
    # the fair share is the middle of the colours, whatever the number of players
    shades = [[_shade(value, fair) for value in row] for row in values]
    axes.imshow(shades, cmap="BrBG", vmin=0, vmax=1, aspect="auto")
    for cell in matrix.to_dict("records"):
        place = names.index(cell["column"]), names.index(cell["row"])
        shade = _shade(cell["win_share"], fair)
        text = f"{100 * cell['win_share']:.1f}\n{100 * cell['win_share_low']:.1f} to {100 * cell['win_share_high']:.1f}"
        colour = "white" if abs(shade - HALF_LIT) > 0.3 else INK
        axes.text(*place, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("all others play")
    axes.set_ylabel("one plays")
    axes.set_title(f"Win share of one player in % (fair: {100 * fair:.1f}), with interval", fontsize=10)
    return _png(figure)


def _shade(value: float, fair: float) -> float:
    """Return where a share stands between 0 and 1, with the fair share at one half."""
    return 0.5 * value / fair if value <= fair else 0.5 + 0.5 * (value - fair) / (1 - fair)


def winter_curves(distributions: pd.DataFrame, games: int) -> bytes:
    """Return the chance that each winter has come by a turn, with pointwise intervals.

    Columns of `distributions`: measure, number, value, games.
    """
    from experiments.estimates import proportion_estimate

    figure, axes = _figure(7, 4)
    for winter, colour in ((1, PALE), (2, ACCENT), (3, INK)):
        part = distributions[(distributions["measure"] == "turn") & (distributions["number"] == winter)]
        steps = part.sort_values("value")
        below = steps["games"].cumsum()
        estimates = [proportion_estimate(int(count), games) for count in below]
        axes.plot(steps["value"], 100 * below / games, color=colour, label=f"winter {winter}", drawstyle="steps-post")
        low, high = ([100 * one["ci"][end] for one in estimates] for end in (0, 1))
        axes.fill_between(steps["value"], low, high, color=colour, alpha=0.3, step="post", linewidth=0)
    axes.set_xlabel("turn, all players together")
    axes.set_ylabel("has come by then, %")
    axes.set_title(f"When the winters come ({games:,} games)", fontsize=10)
    axes.legend(frameon=False)
    return _png(figure)


def more_turns(frame: pd.DataFrame) -> bytes:
    """Return the chance that a player has at least k more turns after the first and second winter.

    Columns of `frame`: winter, turns, one_player, one_player_low, one_player_high.
    """
    figure, axes = _figure(7, 4)
    for winter, colour in ((1, ACCENT), (2, INK)):
        part = frame[(frame["winter"] == winter) & (frame["one_player"] > 0)]
        axes.plot(part["turns"], 100 * part["one_player"], color=colour, marker=".", label=f"after winter {winter}")
        low, high = 100 * part["one_player_low"], 100 * part["one_player_high"]
        axes.fill_between(part["turns"], low, high, color=colour, alpha=0.3, linewidth=0)
    axes.set_xlabel("own turns still to come, at least")
    axes.set_ylabel("chance, %")
    axes.set_title("Turns that a player still has", fontsize=10)
    axes.legend(frameon=False)
    return _png(figure)


def cave_forest(pairs: pd.DataFrame) -> bytes:
    """Return the forest plot of the win-share differences of all pairs of caves, in all deals.

    Columns of `pairs`: kind, a, b, win_share, win_share_low, win_share_high, p_holm.
    """
    part = [_better_first(row) for row in pairs[pairs["kind"] == "all"].to_dict("records")]
    part.sort(key=lambda row: row["win_share"])
    figure, axes = _figure(7, 1.5 + 0.35 * len(part))
    for place, row in enumerate(part):
        colour = INK if row["p_holm"] < 0.05 else PALE
        axes.plot([100 * row["win_share_low"], 100 * row["win_share_high"]], [place, place], color=colour)
        axes.plot(100 * row["win_share"], place, "o", color=colour)
    axes.axvline(0, color=PALE, linewidth=1)
    axes.set_yticks(range(len(part)), [f"cave {row['a']} over {row['b']}" for row in part])
    axes.set_xlabel("difference in win share, points of 100 (pale: not shown to differ)")
    axes.set_title("Caves in pairs, on the same deals", fontsize=10)
    return _png(figure)


def _better_first(row: dict[Any, Any]) -> dict[Any, Any]:
    """Return a pair's row with the better cave as `a`."""
    if row["win_share"] >= 0:
        return row
    low, high = -row["win_share_high"], -row["win_share_low"]
    turned = {"a": row["b"], "b": row["a"], "win_share": -row["win_share"]}
    return {**row, **turned, "win_share_low": low, "win_share_high": high}


def _figure(width: float, height: float) -> tuple[Any, Axes]:
    """Return a figure and its axes, drawn without any display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return content.getvalue()
