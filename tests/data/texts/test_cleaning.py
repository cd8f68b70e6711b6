"""Texts cleaned on request: what changes, what stays, and which rows are left."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncone.data.texts.cleaning import STEPS, clean, plain_text
from uncone.errors import OptionError, ShapeError


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("un<b>believ</b>able", "unbelievable"),
        ("<p>A</p><p>B</p>", "A B"),
        ("one<br/>two &amp; three", "one two & three"),
        ("<div class='x'>Hi<script>var a = '<b>';</script> there</div>", "Hi there"),
        ("<!doctype html><!-- no -->yes", "yes"),
        ("<?php echo 1 ?>x", "x"),
        ("A&nbsp;B &#8217; &#x2019;", "A B ’ ’"),
        ("&lt;b&gt; stays", "<b> stays"),
        ("<![CDATA[hi]]>", "hi"),
    ],
)
def test_html_goes(written, read):
    assert " ".join(plain_text(written).split()) == read


@pytest.mark.parametrize(
    "text",
    [
        "if x<y and y>z",
        "a <b and c> d",
        "I <3 you",
        "AT&T and R&D; a & b &",
        "?a=1&copy=2",
        "&notit;",
        "mail <me@x.org>",
        "wow <!really> ok\n</Nope> <Foo x=1>",
        "trailing <b",
        'open <a href="x>',
        "<",
        "</",
        "a <? b > c",
    ],
)
def test_what_only_looks_like_html_stays(text):
    assert plain_text(text) == text


def test_a_script_that_never_ends_is_text():
    assert plain_text("the <script> tag is evil").split() == ["the", "tag", "is", "evil"]


@given(st.text())
def test_text_without_marks_is_left_alone(text):
    plain = text.replace("<", "").replace("&", "")
    assert plain_text(plain) == plain


@given(st.lists(st.text(max_size=12), max_size=12))
def test_what_is_left_is_clean_and_cleaning_again_changes_nothing(texts):
    cleaned = clean(texts, steps=[step for step in STEPS if step != "html"])
    assert len(set(cleaned.texts)) == len(cleaned.texts) == len(cleaned.rows)
    for text in cleaned.texts:
        assert text and text == " ".join(text.split()) == unicodedata.normalize("NFC", text)
        assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)
        text.encode("utf-8")
    again = clean(cleaned.texts, steps=[step for step in STEPS if step != "html"])
    assert list(again.texts) == list(cleaned.texts) and not any(again.counts.values())
    assert cleaned.counts["empty"] + cleaned.counts["duplicate"] + len(cleaned.rows) == len(texts)


def test_every_step_is_counted():
    texts = ["<p>a</p>", "b\x00", "e\u0301", " c  d ", "", "c d", "12", "12.0", "12"]
    cleaned = clean(texts)
    assert cleaned.texts == ["a", "b", "é", "c d", "12", "12.0"]
    assert cleaned.rows.tolist() == [0, 1, 2, 3, 6, 7] and cleaned.rows.dtype == np.int64
    # The tags of the first text become spaces, so that its white space changes too.
    assert cleaned.counts == {"html": 1, "control": 1, "unicode": 1, "whitespace": 2, "empty": 1, "duplicate": 2}
    assert list(cleaned.counts) == list(STEPS)


def test_normalization_does_not_change_which_character_it_is():
    assert clean(["x²", "ﬁn", "１"]).texts == ["x²", "ﬁn", "１"]


def test_emoji_of_several_parts_stay_whole():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert clean([f"\ufeff{family}\u200b"]).texts == [family]


def test_two_columns_are_cleaned_together():
    cleaned = clean(["a", "a", "a ", "b", ""], ["x", "y", "x", " ", "z"])
    assert (cleaned.texts, cleaned.against, cleaned.rows.tolist()) == (["a", "a"], ["x", "y"], [0, 1])
    assert cleaned.counts["empty"] == 2 and cleaned.counts["duplicate"] == 1


def test_only_the_steps_that_are_asked_for():
    cleaned = clean([" a", "a", "a"], steps=["duplicate"])
    assert cleaned.texts == [" a", "a"] and cleaned.counts == {"duplicate": 1}


def test_nothing_is_left():
    assert clean([]).texts == [] and clean(["", " \n"]).rows.tolist() == []


def test_bad_input():
    with pytest.raises(OptionError, match="no cleaning step 'stem'; choose from html"):
        clean(["a"], steps=["stem"])
    with pytest.raises(ShapeError, match="The columns have 2 and 1 texts"):
        clean(["a", "b"], ["c"])
