"""Sheets of pictures as files: their names, what stands on them, and the colors of their points."""

from __future__ import annotations

import importlib.util
import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread

from uncone.analysis.projections.results import Coloring, Density, Panel, Texts, Trust
from uncone.errors import MissingPackageError, OptionError
from uncone.report.charts.cloud import category_colors
from uncone.report.charts.sheet import density_sheets, majority
from uncone.report.documents.map import Map

TRUST = Trust(0.87, 0.91, 0.42, 15, 200, "Groups can be read off.")


def build(n=60, dims=2, names=("layer 3",), **more):
    rng = np.random.default_rng(1)
    panels = [Panel(name, rng.normal(size=(n, dims)) + k, np.arange(n), TRUST) for k, name in enumerate(names)]
    given = {
        "source": {"name": "v.npy", "dimensions": 64, "rows": 900},
        "method": "pca",
        "dims": dims,
        "panels": panels,
        "places": np.arange(n),
        "texts": Texts(["bank", "river", "$x^2$"], np.arange(n) % 3),
        "colorings": [
            Coloring("kind", "kind", np.arange(n) % 3 - 1, ("a", "b_$")),
            Coloring("norm", "norm |x|", values=np.where(np.arange(n) % 5 == 0, np.nan, np.linspace(0, 1, n))),
        ],
        "total": 900,
        "seed": 7,
        "notes": [],
        "provenance": {},
    }
    return Map(**(given | more))


def pixels(data):
    image = imread(io.BytesIO(data), format="png")
    return (255 * image[..., :3]).round().astype(int)


def has_color(data, hexadecimal, near=12):
    wanted = [int(hexadecimal[at : at + 2], 16) for at in (1, 3, 5)]
    return bool((np.abs(pixels(data) - wanted).max(axis=-1) <= near).any())


def test_a_plane_is_one_sheet_and_few_points_are_also_svg():
    drawn = build().pictures()
    assert set(drawn) == {"map-pca.png", "map-pca.svg"}
    svg = drawn["map-pca.svg"].decode()
    for said in (
        "PCA in 2 dimensions",
        "60 of 900 vectors",
        "seed 7",
        "trustworthiness 0.87",
        "42\u00a0% of variance",
        "b_$ (20)",
    ):
        assert said in svg or said.replace(" ", "") in _letters(svg), said
    assert drawn == build().pictures(), "the same map gives the same bytes"
    assert set(build(n=6_000).pictures()) == {"map-pca.png"}


def _letters(svg):
    """Text that matplotlib draws as outlines has its words in comments."""
    return "".join(part.split("-->")[0].strip().replace(" ", "") for part in svg.split("<!--")[1:])


def test_the_points_have_the_colors_of_their_categories():
    png = build(n=40).pictures()["map-pca.png"]
    assert all(has_color(png, color, 40) for color in category_colors(2))
    alone = build(n=40, colorings=[Coloring("kind", "kind", np.zeros(40, int), ("a",))]).pictures()["map-pca.png"]
    assert has_color(alone, "#0072B2", 40) and not has_color(alone, "#E69F00", 40)


def test_another_coloring_is_asked_for_by_name():
    assert set(build().pictures(coloring="norm")) == {"map-pca-norm.png", "map-pca-norm.svg"}
    with pytest.raises(OptionError, match="not colored by 'size'; choose from kind, norm"):
        build().pictures(coloring="size")
    assert build(colorings=[]).pictures()


def test_space_is_seen_from_several_sides():
    drawn = build(n=40, dims=3).pictures()
    assert {name for name in drawn if name.endswith("png")} == {f"map-pca-3d-{k}.png" for k in (1, 2, 3)}
    shots = [pixels(drawn[f"map-pca-3d-{k}.png"]) for k in (1, 2, 3)]
    assert len({shot.tobytes() for shot in shots}) == 3, "each from another side"
    assert len(build(n=20, dims=3).pictures([(10, 20)])) == 2
    for wrong in (0, []):
        with pytest.raises(OptionError, match="needs at least 1 view"):
            build(n=20, dims=3).pictures(wrong)


def test_several_pictures_stand_on_one_sheet():
    one, seven = build(n=30).pictures(), build(n=30, names=[f"layer {k}" for k in range(7)]).pictures()
    assert list(seven) == list(one)
    letters = _letters(seven["map-pca.svg"].decode())
    assert all(f"layer{k}" in letters for k in range(7))
    space = build(n=30, dims=3, names=[f"layer {k}" for k in range(5)]).pictures(1, coloring="norm")
    assert list(space) == ["map-pca-norm-3d-1.png", "map-pca-norm-3d-1.svg"]


def test_marked_words_are_labeled():
    letters = _letters(build(highlight=["river", "$x^2$", "none"]).pictures()["map-pca.svg"].decode())
    assert "river" in letters and "$x^2$" in letters, "no formula"


def density(members=True, values=False):
    rng = np.random.default_rng(2)
    points, kind = rng.normal(size=(5_000, 2)), rng.integers(0, 2, 5_000)
    edges = np.linspace(-3, 3, 41)
    each = np.stack([np.histogram2d(*points[kind == k].T[::-1], bins=(edges, edges))[0] for k in (0, 1)])
    counts = each.sum(axis=0).astype(np.int64)
    most = np.where(counts > 0, each.argmax(axis=0), -1) if members else None
    mean = np.where(counts > 0, each[1] / np.maximum(counts, 1), np.nan) if values else None
    return Density("layer 3", edges, edges, counts, most, ("a", "b") if members else (), mean)


def test_millions_are_drawn_as_density():
    held = density()
    made = build(static=True, density=[held], total=5_000)
    drawn = made.pictures()
    assert list(drawn) == ["map-pca.png", "map-pca-density.png"]
    assert made.headline.startswith(f"{held.counts.sum():,} of 5,000 vectors by PCA")
    assert list(build(density=[density(members=False)]).pictures()) == ["map-pca.png"]
    assert list(build(density=[density(members=False, values=True)]).pictures()) == [
        "map-pca.png",
        "map-pca-density.png",
    ]
    page = made.to_html()
    assert "of most of its points" in page and "of the mean of its points" not in page
    sheets = density_sheets([held], "norm", ["PC 1", "PC 2"], ["layer 3"], "").values()
    assert {(one.axes[0].get_xlabel(), one.axes[0].get_ylabel()) for one in sheets} == {("PC 1", "PC 2")}
    assert page.count("data:image/png;base64,") == 2 and "data-cloud" not in page and "PCA in 2 dimensions" in page


def test_a_cell_has_the_color_of_its_majority():
    held = density()
    image = majority(held, int(held.counts.max()))
    colors = [[int(one[at : at + 2], 16) / 255 for at in (1, 3, 5)] for one in category_colors(2)]
    for row, column in [(20, 20), (18, 25), (22, 17)]:
        np.testing.assert_allclose(image[row, column, :3], colors[held.members[row, column]], atol=1e-6)
    assert (image[held.counts == 0, 3] == 0).all() and image[..., 3].max() == 1.0


def test_several_densities_share_a_sheet():
    two = [density(), replace(density(), name="other")]
    assert list(build(names=("layer 3", "other"), density=two).pictures()) == ["map-pca.png", "map-pca-density.png"]


def test_without_matplotlib_the_line_to_install_it_is_told(monkeypatch):
    known = importlib.util.find_spec
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None if name == "matplotlib" else known(name))
    with pytest.raises(MissingPackageError, match=r"pip install 'uncone\[models\]'"):
        build().pictures()
