"""Geometry of bars and sparklines."""

from __future__ import annotations

from jobops.web import charts


def test_noise_near_zero_looks_flat_under_the_floor_of_the_scale() -> None:
    quiet = charts.spark([0, 1, 0, 1], "", floor=100)
    assert quiet is not None
    heights = [float(point.split(",")[1]) for point in quiet.line.split()]
    assert max(heights) - min(heights) < 1


def test_a_sparkline_needs_two_values_and_stays_inside_its_box() -> None:
    assert charts.spark([], "") is None
    assert charts.spark([1], "") is None
    drawn = charts.spark([0, 50, 1e9], "", width=104, height=26)
    assert drawn is not None
    points = [tuple(map(float, point.split(","))) for point in drawn.line.split()]
    assert all(0 <= x <= 104 and 0 <= y <= 26 for x, y in points)
    assert (drawn.x, drawn.y) == (drawn.line.split()[-1].split(",")[0], drawn.line.split()[-1].split(",")[1])


def test_a_bar_fills_at_most_its_track_and_marks_the_entitlement() -> None:
    assert charts.bar(12, 10, "").filled == "56"
    assert charts.bar(-1, 10, "").filled == "0"
    assert charts.bar(5, 0, "").filled == "0"
    marked = charts.bar(0.2, 0.4, "", width=88, tick=0.3)
    assert (marked.filled, marked.tick) == ("44", "65")
    assert charts.bar(0.2, 0.4, "", width=88, tick=9.0).tick == "86"
    assert charts.bar(0.2, 0.4, "").tick is None
