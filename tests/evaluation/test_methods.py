"""The list of methods: the standard one, a user's own, and how each is fitted."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.errors import DamagedRepairError, OptionError, OtherSpaceError
from uncone.evaluation.methods import Fits, fit_texts, has_random_start, parse_methods, standard_methods
from uncone.evaluation.spaces import Settings, open_spaces
from uncone.evaluation.table import Method
from uncone.repairs.registry import make

TEXTS = [f"the text {i} go to school {chr(97 + i % 26)} {'x' * (i % 7)}" for i in range(60)]


def test_the_standard_list():
    names = [method.name for method in standard_methods(768)]
    assert names == [
        "raw",
        "center",
        "standardize",
        "droptop",
        "whiten",
        "whiten 256",
        "mute",
        "k-means, means only",
        "k-means + PCA",
        "GMM + PCA",
        "k-means, k=1",
        "flow",
    ]
    assert "GMM + PCA" not in [method.name for method in standard_methods(768, gmm=False)]
    assert "whiten 256" not in [method.name for method in standard_methods(256)]
    for method in standard_methods(32, "token", static=True):
        assert method.level == "token"
        if method.repair not in ("", "static"):
            make(method.repair, **method.options)


def test_a_list_of_ones_own():
    result = parse_methods("raw, center,droptop:k=15,clustered:k=27;p=0,whiten:shrinkage=none,droptop+whiten:dim=8")
    assert [(method.repair, dict(method.options)) for method in result] == [
        ("", {}),
        ("center", {}),
        ("droptop", {"k": 15}),
        ("clustered", {"k": 27, "p": 0}),
        ("whiten", {"shrinkage": None}),
        ("droptop,whiten", {"dim": 8}),
    ]
    assert [method.protocol for method in result] == ["raw", *["inductive"] * 5]


def test_protocols():
    both = parse_methods("center,whiten@transductive,center", protocols=("inductive", "transductive"))
    assert [(method.name, method.protocol) for method in both] == [
        ("center", "inductive"),
        ("center", "transductive"),
        ("whiten", "transductive"),
    ]
    own = Method("mine", "center", protocol="transductive")
    assert parse_methods(["raw", own])[1] is own


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bleach", "no method 'bleach'"),
        ("whiten:k=3", "does not take 'k'"),
        ("whiten:dim", "name=value"),
        ("whiten@magic", "no protocol 'magic'"),
        ("static:k=2", "file=PATH"),
        (" , ", "list of methods is empty"),
    ],
)
def test_what_is_wrong_is_said(text, said):
    with pytest.raises(OptionError, match=said):
        parse_methods(text)


def test_a_folder_without_a_repair(tmp_path):
    with pytest.raises(DamagedRepairError):
        parse_methods(f"raw,{tmp_path}/nothing")


def test_which_methods_begin_at_random():
    random = [method.name for method in standard_methods(768) if has_random_start(method)]
    assert random == ["k-means, means only", "k-means + PCA", "GMM + PCA", "flow"]


def fits_of(model, fit_on=tuple(TEXTS[:40]), **options):
    settings = Settings(layer=1, fit_on=fit_on, **options)
    (space,) = open_spaces(model, TEXTS, settings)
    return Fits(space, model, settings, fit_on)


def test_inductive_and_transductive_fits(tiny_model):
    fits = fits_of(tiny_model)
    rows = fits.space.vectors(TEXTS)
    for protocol, corpus in (("inductive", TEXTS[:40]), ("transductive", TEXTS[40:])):
        method = Method("center", "center", protocol=protocol)
        result, _ = fits.vectors(method, 0, TEXTS[40:], "others")
        np.testing.assert_allclose(result, rows[40:] - fits.space.vectors(corpus).mean(axis=0), atol=1e-5)
    repair = fits.repair(Method("c", "center", protocol="inductive"), 0, TEXTS, "x")
    assert fits.repair(Method("c", "center", protocol="inductive"), 0, TEXTS[:3], "y") is repair, "fitted once"
    located = fits.in_space(Method("c", "center", protocol="inductive"))
    assert (located.layer, located.pooling, located.fitted_on) == ("1", "mean", "40 texts")


def test_seeds_are_for_what_is_drawn(tiny_model):
    fits = fits_of(tiny_model, seeds=3, seed=5)
    assert list(fits.seeds(Method("c", "center", protocol="inductive"))) == [5]
    assert list(fits.seeds(Method("k", "clustered", {"k": 2, "p": 1}, protocol="inductive"))) == [5, 6, 7]


def test_nothing_to_fit_on(tiny_model):
    fits = fits_of(tiny_model, fit_on=())
    with pytest.raises(OptionError, match="fit-on"):
        fits.repair(Method("c", "center", protocol="inductive"), 0, TEXTS, "x")


def test_a_saved_repair_is_a_method(tiny_model, tmp_path):
    fits = fits_of(tiny_model)
    repair = make("whiten", dim=4).fit(fits.space.vectors(TEXTS))
    provenance = {
        "encoder": "x",
        "encoder_content": fits.space.identity["fingerprint"],
        "level": "sentence",
        "pooling": "mean",
    }
    repair.save(tmp_path / "mine", fitted_on="a corpus", layer="1", **provenance)
    repair.save(tmp_path / "other", fitted_on="a corpus", layer="2", **provenance)
    (mine,) = parse_methods(str(tmp_path / "mine"))
    assert (mine.name, mine.protocol, mine.fitted_on) == ("mine", "inductive", "a corpus")
    result, _ = fits.vectors(mine, 0, TEXTS, "x")
    np.testing.assert_allclose(result, repair.transform(fits.space.vectors(TEXTS)), atol=1e-5)
    assert not has_random_start(mine)
    with pytest.raises(OtherSpaceError, match="layer 2"):
        fits.vectors(*parse_methods(str(tmp_path / "other")), 0, TEXTS, "x")


def test_what_is_fitted_on(tmp_path, real_data):
    (tmp_path / "mine.txt").write_text("one\n\ntwo\none\n")
    assert fit_texts(tmp_path / "mine.txt") == ["one", "two", "one"]
    assert fit_texts(["a", "b"]) == ["a", "b"]
    assert len(fit_texts("train", real_data)) == 2 * (5749 + 4500)
    assert len(fit_texts("snli", real_data)) == 2 * 9842
