"""Declared charts as plotly, matplotlib and CSV render them."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import matplotlib
import pytest

from uncone.errors import OutputError
from uncone.report.charts.files import table, write_figures
from uncone.report.charts.matplotlib import draw
from uncone.report.charts.model import Axis, Bars, Chart, Forest, Heatmap, Histogram, Line, Points, Reference
from uncone.report.charts.plotly import figure


def rows_of(chart):
    return list(csv.DictReader(io.StringIO(table(chart))))


def test_every_chart_is_plain_json(charts):
    for chart in charts.values():
        made = figure(chart)
        assert list(made) == ["id", "title", "alt", "data", "layout", "wide", "height"]
        json.dumps(made, allow_nan=False)
        assert made["layout"]["xaxis"]["range"][0] != made["layout"]["xaxis"]["range"][1]


def test_bands_lie_under_the_curves_and_stop_where_nothing_is_known(charts):
    data = figure(charts["lines"])["data"]
    filled = [trace for trace in data if trace.get("fill") == "toself"]
    assert data[: len(filled)] == filled
    assert [len(trace["x"]) for trace in filled] == [2 * 3, 2 * 9], "layer 3 has no interval"
    assert filled[0]["fillcolor"] == "accent 20%"


def test_names_are_escaped_and_hover_tells_interval_and_n(charts):
    main = next(trace for trace in figure(charts["lines"])["data"] if "customdata" in trace)
    assert main["name"] == "baseline &lt;b&gt;"
    assert main["customdata"][0] == "layer 0, baseline &lt;b&gt;: 0.100 (0.060 to 0.140), n = 100"
    assert main["customdata"][3] == "layer 3, baseline &lt;b&gt;: 0.250, n = 100"


def test_labels_at_the_ends_stand_apart(charts):
    made = figure(charts["lines"])
    ends = [note for note in made["layout"]["annotations"] if note["showarrow"]]
    low, high = made["layout"]["yaxis"]["range"]
    plot = made["height"] - 76
    places = sorted(plot * (note["y"] - low) / (high - low) - note["ay"] for note in ends)
    assert len(ends) == 4
    assert all(b - a >= 15.9 for a, b in pairwise(places))
    assert made["layout"]["margin"]["r"] > 60
    assert not made["layout"]["showlegend"]


def test_labels_of_references_have_rows_of_their_own(charts):
    layout = figure(charts["histogram"])["layout"]
    notes = [note for note in layout["annotations"] if note["yref"] == "paper"]
    assert [note["text"] for note in notes] == ["0.75", "0.1 %: 0.52", "1 %: 0.50", "mean: 0.31"]
    heights = [note["y"] for note in notes]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 4
    assert [line["y1"] for line in layout["shapes"]] == heights[::-1]


def test_logarithmic_axes_have_no_exponents(charts):
    axis = figure(charts["reach"])["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert dict(zip(axis["tickvals"], axis["ticktext"], strict=True))[0.001] == "0.1 %"
    svg = draw(charts["reach"])["svg"].decode()
    assert "0.001 %" in svg
    assert "mathdefault" not in svg


def test_series_of_a_forest_share_rows_without_covering_one_another(charts):
    first, second = figure(charts["forest"])["data"]
    assert [b - a for a, b in zip(first["y"], second["y"], strict=True)] == pytest.approx([0.22] * 3)
    assert first["marker"]["symbol"] == ["circle", "circle-open", "circle-open"]
    assert first["error_x"]["array"] == pytest.approx([0.4, 0.5, 0.0])
    axis = figure(charts["forest"])["layout"]["yaxis"]
    assert axis["range"][0] > axis["range"][1], "the first row is on top"
    assert axis["ticktext"][0] == "<b>abtt-2</b>"
    assert axis["ticktext"][2] == "standard &amp; poor"


def test_heatmaps_name_rows_by_texts_and_center_their_colors(charts):
    trace = figure(charts["heatmap"])["data"][0]
    assert trace["y"] == [0, 1]
    assert trace["z"][0][2] is None
    assert trace["customdata"][1][1] == "abtt-2, 6: 66.1"
    around = figure(charts["diverging"])["data"][0]
    assert (around["zmin"], around["zmax"]) == (-0.2, 0.2)


def test_a_name_stands_in_the_legend_once(charts):
    data = figure(charts["reach"])["data"]
    assert [trace["name"] for trace in data if trace["showlegend"]] == ["unrelated pairs", "another file"]


def test_a_constant_and_an_unknown_curve_are_drawn():
    for y in ([0.0, 0.0], [None, None], [5.0, math.nan], [2.0, None]):
        chart = Chart("flat", "Flat", "", [Line([0, 1], y, "a")], references=[Reference(0.5)])
        json.dumps(figure(chart), allow_nan=False)
        assert draw(chart)["png"]
        assert draw(replace(chart, y=Axis(log=True), direct=True))["png"]


@pytest.mark.parametrize(
    "mark",
    [Line([], []), Histogram([1, 1.5, 40], [3, 2]), Bars([], []), Points([], []), Forest([], [], [], []), Heatmap([])],
)
def test_marks_without_data_and_logarithmic_histograms(mark):
    axis = Axis("|x|", log=isinstance(mark, Histogram))
    chart = Chart(
        "few", "Few", "", [mark], x=axis, y=Axis(categories=["a"] if isinstance(mark, Forest | Heatmap) else [])
    )
    json.dumps(figure(chart), allow_nan=False)
    assert draw(chart)["svg"]
    assert len(rows_of(chart)) == 2 * isinstance(mark, Histogram)


def test_csv_is_long_and_names_categories(charts):
    lines = rows_of(charts["lines"])
    start = {"group": "bert", "series": "baseline <b>", "layer": "0", "value": "0.1"}
    assert lines[0] == start | {"low": repr(0.1 - 0.04), "high": repr(0.1 + 0.04), "n": "100", "text": ""}
    assert len(lines) == 4 * 13 + 2
    assert [row["method"] for row in rows_of(charts["forest"])][:2] == charts["forest"].y.categories[:2]
    assert rows_of(charts["histogram"])[0]["score_from"] == "0.0"
    assert {row["series"] for row in rows_of(charts["intervals"])} == {"said"}, "a guide is no number"
    assert [row["x"] for row in rows_of(charts["bars"])][:3] == ["cosine", "dot", "a < b"]
    assert rows_of(charts["heatmap"])[2] == {"method": "raw", "layer": "12", "Spearman x 100": "", "text": ""}


def test_csv_of_a_cloud(clouds):
    rows = rows_of(clouds[3])
    assert len(rows) == 600 + 40 + 300
    assert rows[5]["label"] == "c"
    assert rows[0]["label"] == rows[7]["position"] == ""
    assert rows[640 + 3]["text"] == "<i>row</i> 6 & more"
    assert "z" not in rows_of(clouds[2])[0]


def test_the_same_chart_gives_the_same_files_whatever_the_reader_has_set(charts, clouds, tmp_path):
    chosen = [charts["forest"], charts["lines"], clouds[2]]
    first = [draw(chart) for chart in chosen]
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "axes.grid": True}):
        assert [draw(chart) for chart in chosen] == first


def test_figures_are_complete_or_absent(charts, clouds, tmp_path):
    folder = tmp_path / "figures"
    written = write_figures([*charts.values(), clouds[3]], folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in written)
    assert len(written) == 3 * 11
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        write_figures(charts.values(), tmp_path / "taken")
    with pytest.raises(OutputError, match="There is no folder"):
        write_figures(charts.values(), tmp_path / "none" / "figures")


def test_declaring_and_drawing_for_a_page_loads_no_matplotlib():
    modules = "uncone.report.charts.plotly, uncone.report.charts.files"
    code = f"import sys, {modules}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
