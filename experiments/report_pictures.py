"""Pictures as SVG: dots with their intervals, heatmaps and curves. Text only, so that a report needs no network.

A picture is 380 units wide, which a phone shows at full size; the report's style sheet colours it by its classes, and
the attributes here colour it where there is no style sheet.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

WIDTH = 380
LINE = 15  # height of a row of dots
FONT = 10
LETTER = 5.9  # mean width of a letter at that size
MARGIN = 8
AXIS = 34  # height below the plot for ticks and title
INK, SOFT, GRID, DOT = "#1f2a2a", "#5d6b6b", "#d9dfdc", "#1b6e53"
LINES = (DOT, "#b4552d", "#3f5fa8", "#8a6d1d", "#7a3b78")
LOW_COLOUR, MIDDLE_COLOUR, HIGH_COLOUR = (178, 84, 48), (244, 244, 240), (27, 110, 83)
TICKS = 5
CLAIM = 0.05  # corrected p-value below which a difference is called clear
STANDALONE = "font-family:system-ui,sans-serif;background:#fff"


@dataclass(frozen=True)
class Dot:
    """One row of a dot plot; `solid` says whether it stands out."""

    label: str
    value: float
    low: float
    high: float
    solid: bool = True


@dataclass(frozen=True)
class Curve:
    """One line of a plot of curves, with the ends of its intervals if it has any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def dot_plot(title: str, dots: Sequence[Dot], axis: str, reference: float | None = None) -> str:
    """Return a plot of values with their intervals, one row each, and a line at `reference`."""
    left = MARGIN + min(170, LETTER * max(len(dot.label) for dot in dots) + 6)
    top = _title_height(title)
    bottom = top + LINE * len(dots) + 4
    ends = [end for dot in dots for end in (dot.low, dot.high)] + ([] if reference is None else [reference])
    ticks = nice_ticks(min(ends), max(ends))
    scale = _Scale(min(*ends, ticks[0]), max(*ends, ticks[-1]), left, WIDTH - MARGIN - 4)
    parts = [_tick(scale(tick), top, bottom, tick_text(tick, ticks)) for tick in ticks]
    if reference is not None:
        parts.append(_line(scale(reference), top, scale(reference), bottom, "reference", SOFT))
    for row, dot in enumerate(dots):
        y = top + LINE * (row + 0.5)
        parts.append(_text(left - 6, y + 3.5, _cut(dot.label, left), anchor="end"))
        parts.append(_line(scale(dot.low), y, scale(dot.high), y, "interval", DOT, 1.6))
        fill = DOT if dot.solid else "#fff"
        hint = escape(f"{dot.label}: {dot.value:.4g} ({dot.low:.4g} to {dot.high:.4g})")
        parts.append(
            f'<circle class="dot{"" if dot.solid else " hollow"}" cx="{scale(dot.value):.1f}" cy="{y:.1f}" r="3.2" '
            f'fill="{fill}" stroke="{DOT}" stroke-width="1.4"><title>{hint}</title></circle>'
        )
    return _svg(title, bottom + AXIS, [*parts, _text((left + WIDTH) / 2, bottom + 28, axis, "middle", "axis")])


def curve_plot(title: str, curves: Sequence[Curve], x_axis: str, y_axis: str) -> str:
    """Return a plot of curves with a legend."""
    left, top = 44, _title_height(title) + LINE * len(curves) + 14
    bottom = top + 170
    xs = [x for curve in curves for x in curve.x]
    ys = [y for curve in curves for values in (curve.y, curve.low, curve.high) for y in values]
    x_ticks, y_ticks = nice_ticks(min(xs), max(xs)), nice_ticks(min(0.0, *ys), max(ys))
    across = _Scale(min(*xs, x_ticks[0]), max(*xs, x_ticks[-1]), left, WIDTH - MARGIN - 8)
    up = _Scale(y_ticks[0], max(*ys, y_ticks[-1]), bottom, top)
    parts = [_tick(across(tick), top, bottom, tick_text(tick, x_ticks)) for tick in x_ticks]
    for tick in y_ticks:
        parts.append(_line(left, up(tick), WIDTH - MARGIN, up(tick), "grid", GRID))
        parts.append(_text(left - 5, up(tick) + 3.5, tick_text(tick, y_ticks), "end", "axis"))
    for k, curve in enumerate(curves):
        colour = LINES[k % len(LINES)]
        if curve.low:
            around = _points([*curve.x, *reversed(curve.x)], [*curve.low, *reversed(curve.high)], across, up)
            parts.append(f'<polygon class="band" fill="{colour}" fill-opacity="0.25" points="{around}"/>')
        points = _points(curve.x, curve.y, across, up)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        y = _title_height(title) + LINE * k + 6
        parts.append(_line(left, y, left + 18, y, "legend", colour, 2.5))
        parts.append(_text(left + 24, y + 3.5, curve.label))
    parts.append(_text((left + WIDTH) / 2, bottom + 28, x_axis, "middle", "axis"))
    parts.append(_text(MARGIN, top - 5, y_axis, "start", "axis"))
    return _svg(title, bottom + AXIS, parts)


def heatmap(
    title: str, rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[str, str], Dot], fair: float = 0.5
) -> str:
    """Return shares of rows against columns with their intervals; the share `fair` has the middle of the colours."""
    left = MARGIN + min(110, LETTER * max(map(len, rows)) + 8)
    top = _title_height(title) + LINE + 4
    size = (WIDTH - MARGIN - left) / len(columns)
    height = min(size, 46)
    parts = []
    for k, column in enumerate(columns):
        parts.append(_text(left + size * (k + 0.5), top - 5, _cut(column, size), "middle"))
    for i, row in enumerate(rows):
        y = top + height * i
        parts.append(_text(left - 6, y + height / 2 + 3.5, _cut(row, left), "end"))
        for k, column in enumerate(columns):
            cell = cells.get((row, column))
            if cell is not None:
                parts.append(_cell(cell, left + size * k, y, size, height, fair))
    return _svg(title, top + height * len(rows) + MARGIN, parts)


def _cell(cell: Dot, x: float, y: float, width: float, height: float, fair: float) -> str:
    hint = escape(f"{cell.label}: {cell.value:.4g} ({cell.low:.4g} to {cell.high:.4g})")
    part = shade(cell.value, fair)
    box = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{height - 2:.1f}" rx="2" '
        f'fill="{shade_colour(part)}"><title>{hint}</title></rect>'
    )
    ink = "#fff" if abs(part) > 0.6 else INK
    middle = x + width / 2 - 1
    texts = [
        f'<text x="{middle:.1f}" y="{y + height / 2:.1f}" text-anchor="middle" font-size="{FONT + 1}" fill="{ink}">'
        f"{100 * cell.value:.1f}</text>"
    ]
    if width >= 56:
        texts.append(
            f'<text x="{middle:.1f}" y="{y + height / 2 + 11:.1f}" text-anchor="middle" font-size="8" fill="{ink}">'
            f"{100 * cell.low:.1f} to {100 * cell.high:.1f}</text>"
        )
    return box + "".join(texts)


def shade(share: float, fair: float) -> float:
    """Return where a share stands: -1 for none, 0 for the fair share, 1 for all."""
    return (share - fair) / (fair if share < fair else 1 - fair)


def shade_colour(part: float) -> str:
    """Return the colour of a shade between -1 and 1."""
    end = HIGH_COLOUR if part >= 0 else LOW_COLOUR
    mixed = (round(a + (b - a) * min(1.0, abs(part))) for a, b in zip(MIDDLE_COLOUR, end, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def nice_ticks(low: float, high: float) -> list[float]:
    """Return round numbers that span low to high, some `TICKS` of them."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [round(k * step, 10) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """Return a tick with as many decimals as its neighbours need."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return f"{tick:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


class _Scale:
    """A linear map from values to units of the picture."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.start = low, start
        self.factor = (end - start) / (high - low if high > low else 1.0)

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) * self.factor


def _points(xs: Iterable[float], ys: Iterable[float], across: _Scale, up: _Scale) -> str:
    return " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in zip(xs, ys, strict=True))


def _svg(title: str, height: float, parts: Iterable[str]) -> str:
    lines = "".join(
        _text(MARGIN, MARGIN + 8 + 14 * k, line, "start", "title", FONT + 2) for k, line in enumerate(_wrapped(title))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'style="{STANDALONE}" aria-label="{escape(title)}">{lines}{"".join(parts)}</svg>'
    )


def _wrapped(title: str) -> list[str]:
    """Return a title in lines that fit."""
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH / (LETTER * 1.2):
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _title_height(title: str) -> float:
    return MARGIN + 14 * len(_wrapped(title)) + 8


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "label", size: float = FONT) -> str:
    colour = SOFT if kind == "axis" else INK
    weight = ' font-weight="600"' if kind == "title" else ""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
        f"{weight}>{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, colour: str, width: float = 1) -> str:
    return (
        f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def _tick(x: float, top: float, bottom: float, text: str) -> str:
    return _line(x, top, x, bottom, "grid", GRID) + _text(x, bottom + 13, text, "middle", "axis")


def _cut(text: str, width: float) -> str:
    """Return a label shortened to what fits."""
    most = max(3, int((width - 8) / LETTER))
    return text if len(text) <= most else text[: most - 1] + "…"


# From tables to pictures


def dots_of(frame: pd.DataFrame, name: str, labels: Sequence[str]) -> list[Dot]:
    """Return the estimate `name` of a tidy frame as dots; solid where it stands after correction, by the column q."""
    known = frame[frame[[name, f"{name}_low", f"{name}_high"]].notna().all(axis=1)]
    claims = next((column for column in (f"{name}_q", "q", "p_holm") if column in known.columns), None)
    return [
        Dot(
            " ".join(str(row[label]) for label in labels),
            float(row[name]),
            float(row[f"{name}_low"]),
            float(row[f"{name}_high"]),
            claims is None or is_clear(row[claims]),
        )
        for row in known.to_dict("records")
    ]


def is_clear(q: float | None) -> bool:
    """Return whether a corrected p-value makes a finding; there is none where there was too little to judge by."""
    return q is not None and q < CLAIM


def ranked(dots: Sequence[Dot]) -> list[Dot]:
    """Return dots by value, the greatest first."""
    return sorted(dots, key=lambda dot: -dot.value)


def card_plots(frames: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Return the pictures of the tables of `cards` by name: values, and one for each change of the causal part."""
    plots: dict[str, str] = {}
    for policy in frames["summary"]["policy"].unique():
        rows = frames["summary"].query("policy == @policy")
        title = f"{policy}: win rate with the card in hand, minus all cards first held in the same turns"
        _add_dots(plots, f"values_{policy}", title, dots_of(rows, "iih_turn", ["species"]))
        for change in frames["causal"]["change"].unique() if "causal" in frames else ():
            rows = frames["causal"].query("policy == @policy and change == @change")
            title = f"{policy}: change of the win share, {change.replace('_', ' ')}"
            dots = [dot for dot in dots_of(rows, "win_share", ["species"]) if dot.low < dot.high]
            _add_dots(plots, f"{change}_{policy}", title, dots)
    return plots


def _add_dots(plots: dict[str, str], name: str, title: str, dots: Sequence[Dot]) -> None:
    """Add a dot plot of differences, if there are any, under a name that can be that of a file."""
    if dots:
        plots[re.sub(r"[^\w-]+", "-", name)] = dot_plot(title, ranked(dots), "95 % intervals; solid: clear", 0.0)


def card_pictures(frames: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return the pictures of `cards` as files."""
    return {f"{name}.svg": plot.encode() for name, plot in card_plots(frames).items()}
