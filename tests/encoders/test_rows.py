"""Words and their tokens: on hard text, on random Unicode, and where a text is cut into windows."""

from __future__ import annotations

import itertools
import re
import unicodedata

import numpy as np
import pytest
import torch
import transformers
from commands import grows
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import uncone
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder
from uncone.encoders.rows import segmentation as word_module
from uncone.encoders.rows.rows import RowRule
from uncone.encoders.rows.segmentation import Kind, find_words, identity
from uncone.errors import ModelError

pytestmark = pytest.mark.usefixtures("one_thread")

FAMILIES = ("bert", "gpt2", "roberta", "t5", "llama")
HARD = {
    "composed accents": "Café naïve Übermut, déjà vu: Ångström.",
    "decomposed accents": "Cafe\u0301 nai\u0308ve U\u0308bermut, de\u0301ja\u0300 vu: A\u030angstro\u0308m.",
    "an accent at the end": "the cafe\u0301",
    "skin tones": "ok 👍🏽 and 👍🏿👍🏻 no 👎",
    "joined emoji": "a 👩\u200d🚀 with 👨\u200d👩\u200d👧\u200d👦 and 🏳️\u200d🌈!",
    "flags": "from 🇩🇪 to 🇫🇷🇩🇪 and 🇩 and 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycaps and hearts": "press #️⃣ or *️⃣, ❤️ and ☎️ and ™",
    "contractions": "It's the dog's, isn't it? They'll say rock'n'roll; l’été, 'quoted', O’Neill’s.",
    "Chinese and Japanese": "中文和日本語をひらがなとカタカナで々、한국어도。",
    "rare Han": "𠀀𠀁 and 㐀㐁 in text",
    "addresses": "see http://example.org/path?x=1&y=(2), www.example.com. or mail me.you+1@example.org!",
    "numbers": "3.14 1,000,000 12:30 1/2 1st 22nd 3x x3 v2.0 -5 50% $9.99 1e-5 ½ ² ①",
    "Devanagari": "नमस्ते हिन्दी क्षत्रिय न्\u200dर १२३।",
    "Thai": "สวัสดี ไทย ภาษาไทยไม่มีวรรค ๑๒๓",
    "Arabic": "السَّلامُ عليكم، مرحبا ١٢٣؟",
    "Hebrew and Greek": "שָׁלוֹם, Ελληνικά ΣΟΦΙΑΣ σοφίας",
    "tabs and spaces": "the\tdog  saw \u00a0 the\n\nman   \u3000 ok",
    "special strings": "[CLS] the [SEP] dog </s> and <s> or <pad> [MASK] <|endoftext|> <unk> [UNK] <0x41>",
    "special strings inside": "a[CLS]b c</s>d <s><s> x<pad>",
    "zero width": "zero\u200bwidth non\u200cjoiner the\u200ddog \ufeffbom soft\u00adhyphen \u2060 end",
    "nothing but invisible": "\u200b \u200c \ufeff",
    "controls": "a\x00b \x01 \x7f the\x1b[0m end",
    "ligatures and fractions": "ﬁne ﬂow ½ ㎏ ﷺ Ⅷ",
    "case": "STRASSE Straße İstanbul ǅ ŉ",
    "marks in front": "\u0301x \u0301 y\u0301\u0302\u0303",
    "punctuation": 'Wait... what?!?! --- ("yes") — “no” … _under_ __init__ a_b C++ C# @me #tag',
    "mathematics": "𝐱² ≤ ∑ᵢ αᵢ·βᵢ ∈ ℝ",
    "one letter": "a",
    "one mark": "\u0301",
    "a long word": "x" * 70 + "é" * 20,
    "no spaces": "thedogsawthemanandtheriver,thebank.thehouse",
}


def naive_bag(word, offsets, special):
    """The tokens that share a character with a word."""
    bag = []
    for token, (left, right) in enumerate(offsets):
        inside = set(range(left, right)) & set(range(word.start, word.end))
        if inside and not special[token]:
            bag.append(token)
    return bag


def bags_of(encoder, texts, rule=None, window=None):
    """The library's rows of some texts in one batch: (text, start, end, name, tokens), tokens counted in the text."""
    rule = rule or RowRule()
    batch = [laid for passages in encoder.passages(texts, window or Window()) for laid in rule.lay(passages, encoder)]
    places = [(number, laid, i) for number, laid in enumerate(batch) for i in range(laid.n)]
    for number, laid in enumerate(batch):
        laid.group, laid.first_row = number, sum(one.n for one in batch[:number])
    layout = rule.layout(batch, lambda name: 0)
    bases = np.concatenate([[0], np.cumsum([laid.passage.length for laid in batch])])
    ends = [*layout.starts.tolist(), len(layout.tokens)]
    found = []
    for row in range(layout.n):
        number, laid, i = places[layout.rows[row]]
        tokens = layout.tokens[ends[row] : ends[row + 1]] - bases[number]
        assert layout.keys.groups[row] == number
        found.append((number, int(laid.starts[i]), int(laid.ends[i]), laid.names[i], tokens.tolist()))
    return found


def expected_bags(tokenizer, texts):
    found = []
    for number, text in enumerate(texts):
        made = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        for word in find_words(text):
            bag = naive_bag(word, made["offset_mapping"], made["special_tokens_mask"])
            if bag:
                name = unicodedata.normalize("NFC", text[word.start : word.end].casefold())
                found.append((number, word.start, word.end, name, bag))
    return found


@pytest.fixture(scope="module")
def encoder_of(folder_of):
    made = {}

    def get(family):
        if family not in made:
            made[family] = open_encoder(folder_of(family))
        return made[family]

    return get


# Bags of tokens.


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("family", FAMILIES)
def test_a_word_is_the_tokens_that_overlap_it(family, text, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    assert bags_of(encoder_of(family), [text]) == expected_bags(tokenizer, [text])


@pytest.mark.parametrize("family", [*FAMILIES, "forgetful"])
def test_in_one_batch_they_are_the_same(family, encoder_of, loaded, hidden):
    """And the vectors too: the mean of the states of those tokens, at every layer."""
    texts = [*HARD.values(), "the dog 日本", "日本 ไทย"]
    tokenizer, _ = loaded(family)
    encoder = encoder_of(family)
    expected = expected_bags(tokenizer, texts)
    assert bags_of(encoder, texts) == expected
    batch = [passages[0] for passages in encoder.passages(texts, Window())]
    states = encoder.encode(batch)
    bases = np.concatenate([[0], np.cumsum([passage.length for passage in batch])])
    tokens = np.concatenate([np.array(bag) + bases[number] for number, *_, bag in expected])
    starts = np.cumsum([0, *(len(bag) for *_, bag in expected)])[:-1]
    for layer in range(encoder.layers):
        naive = [hidden(family, texts[number]).states[layer, bag].mean(axis=0) for number, *_, bag in expected]
        np.testing.assert_allclose(states.pooled(layer, tokens, starts), naive, rtol=0, atol=2e-5)
        most = [hidden(family, texts[number]).states[layer, bag].max(axis=0) for number, *_, bag in expected]
        np.testing.assert_allclose(states.longest(layer, tokens, starts), most, rtol=0, atol=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("last", -1)])
def test_the_first_and_the_last_token_of_a_word(family, pooling, place, encoder_of, loaded):
    texts = list(HARD.values())
    expected = [(*rest, [bag[place]]) for *rest, bag in expected_bags(loaded(family)[0], texts)]
    assert bags_of(encoder_of(family), texts, RowRule(word_pooling=pooling)) == expected


LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("abcdeABC   .,'’-_@/:0123456789"),
    st.sampled_from(
        "éüñß\u0301\u0308\u200b\u200c\u200d\ufe0f\u20e3👍🏽👩🚀🇩🇪中文あア한नमस्ते\u093eสวัสดีمرحبا\u00a0\u3000\t\n"
    ),
)
TEXTS = st.text(LETTERS, min_size=1, max_size=40)


@pytest.mark.parametrize("family", FAMILIES)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_random_unicode(family, encoder_of, loaded, texts):
    assert bags_of(encoder_of(family), texts) == expected_bags(loaded(family)[0], texts)


# Windows. A text is cut into windows of tokens; a word belongs to one that holds all of its tokens.


def windows_of(tokenizer, text, size, stride=None):
    """Where each window begins and ends, in tokens that are not special; their offsets; the special ones in front."""
    made = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    special = made["special_tokens_mask"]
    offsets = [span for span, added in zip(made["offset_mapping"], special, strict=True) if not added]
    room = size - sum(special)
    step = min(stride or room, room)
    found = [(0, min(room, len(offsets)))]
    while found[-1][1] < len(offsets):
        start = found[-1][0] + step
        found.append((start, min(start + room, len(offsets))))
    return found, offsets, special[:1] == [1] and len(special) > 0


def naive_windows(tokenizer, text, size, stride=None):
    """The words that fit in a window, by place and tokens; and how many do not."""
    windows, offsets, _ = windows_of(tokenizer, text, size, stride)
    whole, cut = [], 0
    for word in find_words(text):
        bag = naive_bag(word, offsets, [False] * len(offsets))
        if bag and any(start <= bag[0] and bag[-1] < end for start, end in windows):
            whole.append((word.start, word.end, tuple(bag)))
        elif bag:
            cut += 1
    return whole, cut


def library_windows(encoder, tokenizer, text, size, stride=None):
    windows, _, in_front = windows_of(tokenizer, text, size, stride)
    window = Window(size, stride)
    (passages,) = encoder.passages([text], window)
    assert len(passages) == len(windows)
    cut = sum(laid.cut for laid in RowRule().lay(passages, encoder))
    found = []
    for number, start, end, _, bag in bags_of(encoder, [text], window=window):
        found.append((start, end, tuple(windows[number][0] + token - in_front for token in bag)))
    return sorted(found), cut


LONG = "The dog saw the man at the river bank, 3,000 times; it's unbelievably cold... Run! " * 2
SIZES = [(4, None), (5, None), (8, None), (13, None), (30, None), (64, None), (1000, None)]
STRIDES = [(8, 1), (8, 3), (16, 4), (16, 8), (16, 15), (40, 12), (40, 39)]


@pytest.mark.parametrize("size", [size for size, _ in SIZES])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_overlap_a_cut_word_is_left_out_and_counted(family, size, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    found = library_windows(encoder_of(family), tokenizer, LONG.strip(), size)
    assert found == naive_windows(tokenizer, LONG.strip(), size)


@pytest.mark.parametrize("family", FAMILIES)
def test_with_overlap_no_word_comes_twice(family, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    for size, stride in STRIDES:
        found, cut = library_windows(encoder_of(family), tokenizer, LONG.strip(), size, stride)
        assert len({span[:2] for span in found}) == len(found)
        assert len(found) + cut == len(find_words(LONG))


@pytest.mark.parametrize("family", FAMILIES)
def test_with_overlap_every_word_that_fits_appears_once(family, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    for size, stride in STRIDES:
        found = library_windows(encoder_of(family), tokenizer, LONG.strip(), size, stride)
        assert found == naive_windows(tokenizer, LONG.strip(), size, stride), (size, stride)


CUT = {
    "an emoji of several tokens": ("gpt2", "the bank 👍🏽 dog", 6),
    "an emoji of several tokens, with BOS": ("llama", "the bank 👍🏽 dog", 6),
    "a letter of two tokens": ("gpt2", "the bank, é dog", 4),
    "a ligature that is normalized to two letters": ("t5", "the the the ﬁne", 5),
    "a word whose last mark is dropped": ("bert", "the man, the cafe\u0301 the man", 4),
    "a window of nothing but spaces": ("roberta", "the dog         the bank", 6),
    "a word without tokens": ("bert", "the dog the \u200b\u200b\u200b dog the dog", 4),
}


@pytest.mark.parametrize(("family", "text", "size"), CUT.values(), ids=CUT.keys())
def test_windows_cut_where_the_tokenizer_does(family, text, size, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    sizes = range(size, size + 8)
    found = [library_windows(encoder_of(family), tokenizer, text, size) for size in sizes]
    assert found == [naive_windows(tokenizer, text, size) for size in sizes]


@pytest.mark.parametrize("family", FAMILIES)
def test_windows_of_hard_text(family, encoder_of, loaded):
    tokenizer, _ = loaded(family)
    wrong = [
        (name, size, stride)
        for name, text in HARD.items()
        for size, stride in [*SIZES[:5], (8, 3), (16, 8)]
        if library_windows(encoder_of(family), tokenizer, text, size, stride)
        != naive_windows(tokenizer, text, size, stride)
    ]
    assert not wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_every_token_is_in_one_window(family, encoder_of, loaded):
    count_tokens(encoder_of(family), loaded(family)[0], LONG.strip())


@pytest.mark.parametrize("family", ["gpt2", "roberta", "t5", "llama"])
def test_every_token_of_hard_text_is_in_one_window(family, encoder_of, loaded):
    for text in HARD.values():
        count_tokens(encoder_of(family), loaded(family)[0], text)


def count_tokens(encoder, tokenizer, text):
    rule = RowRule(rows="tokens")
    for size, stride in [(5, None), (8, None), (8, 3), (16, 8)]:
        windows, offsets, in_front = windows_of(tokenizer, text, size, stride)
        (passages,) = encoder.passages([text], Window(size, stride))
        found = [
            windows[number][0] + int(token) - in_front
            for number, laid in enumerate(rule.lay(passages, encoder))
            for token in laid.tokens
        ]
        assert sorted(found) == [i for i, (left, right) in enumerate(offsets) if right > left], (text, size, stride)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_windows_are_read_on_their_own(family, folder_of, loaded, forward, measured, sentences):
    """The states of a word are those of its window, with the special tokens of a text of its own."""
    tokenizer, _ = loaded(family)
    size, vectors = 12, []
    for text in sentences:
        windows, _offsets, in_front = windows_of(tokenizer, text, size)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        before, after = ([tokenizer.cls_token_id], [tokenizer.sep_token_id]) if in_front else ([], [])
        states = [forward(family, [*before, *ids[start:end], *after]) for start, end in windows]
        for _, _, bag in naive_windows(tokenizer, text, size)[0]:
            window = next(i for i, (start, end) in enumerate(windows) if start <= bag[0] < end)
            inside = [token - windows[window][0] + in_front for token in bag]
            vectors.append(states[window][:, inside].mean(axis=1))
    study = uncone.layers(folder_of(family), sentences, window=size)
    layers = np.stack(vectors, axis=1)
    assert study.source["rows"] == layers.shape[1]
    assert any("cut into windows" in note for note in study.notes)
    for number, rows in enumerate(layers):
        expected, _, _ = measured(rows, list(range(len(rows))))
        for name in ("norm_mean", "mean_over_rms", "participation_ratio", "isoscore", "partition_isotropy_unit_log10"):
            assert study[number][name].value == pytest.approx(expected[name], rel=1e-5, abs=1e-5), (number, name)


@pytest.mark.parametrize(
    ("family", "pooling"), [("bert", "mean"), ("gpt2", "last"), ("roberta", "cls"), ("llama", "mean")]
)
@pytest.mark.parametrize("window", [6, None])
def test_a_sentence_is_truncated(family, pooling, window, folder_of, loaded, forward, measured, sentences):
    tokenizer, model = loaded(family)
    texts = [*sentences, "the dog and the bank " * 60]
    limit = window or {"roberta": 128}.get(family, model.config.max_position_embeddings)
    found = []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        states = forward(family, ids)
        found.append({"mean": states.mean(axis=1), "cls": states[:, 0], "last": states[:, -1]}[pooling])
    study = uncone.layers(folder_of(family), texts, rows="sentences", pooling=pooling, window=window)
    for number, rows in enumerate(np.stack(found, axis=1)):
        if np.ptp(rows, axis=0).max() > 1e-4:
            expected, _, _ = measured(rows, list(range(len(rows))))
            for name in ("baseline", "norm_mean", "mean_over_rms", "participation_ratio"):
                assert study[number][name].value == pytest.approx(expected[name], rel=1e-5, abs=1e-5), (number, name)
    assert any(note.endswith(f"longer than {limit} tokens, truncated.") for note in study.notes)
    tokenizer.backend_tokenizer.no_truncation()


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_beyond_what_the_model_takes(family, folder_of, sentences):
    texts = [*sentences, "the dog and the bank " * 80, "x" * 600, "ab" * 300 + " dog", "👍🏽" * 70, "the  " * 300]
    study = uncone.layers(folder_of(family), texts, batch_size=4)
    assert study[0]["baseline"].n == study.source["rows"]
    words = sum(len(find_words(text.strip())) for text in texts)
    cut = [int(found[1].replace(",", "")) for note in study.notes if (found := re.match(r"([\d,]+) words? cut", note))]
    assert study.source["rows"] + sum(cut) == words


@pytest.mark.parametrize("window", [4, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_windows(family, window, folder_of, sentences):
    for stride in (None, 1, 2):
        study = uncone.layers(folder_of(family), sentences[:25], window=window, stride=stride, min_contexts=2)
        assert study[0]["baseline"].n == study.source["rows"] > 50


# Models that count positions from behind the padding id.


def roberta_like(folder, tokenizer, model):
    torch.manual_seed(0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny(kind, tokenizer, **more):
    return kind(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=66,
        **{"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, **more},
    )


@pytest.mark.parametrize("family", ["XLMRoberta", "Camembert", "MPNet"])
def test_positions_behind_the_padding_id(family, tmp_path, loaded, sentences):
    check_long(family, tmp_path, loaded, sentences)


@pytest.mark.parametrize("family", ["XLMRobertaXL", "RobertaPreLayerNorm", "Data2VecText", "Luke"])
def test_more_positions_behind_the_padding_id(family, tmp_path, loaded, sentences):
    check_long(family, tmp_path, loaded, sentences)


def test_positions_behind_a_high_padding_id(tmp_path, loaded, sentences):
    check_long("Roberta", tmp_path, loaded, sentences, pad_token_id=7)


def check_long(family, tmp_path, loaded, sentences, **more):
    tokenizer, _ = loaded("roberta")
    model, config = (getattr(transformers, f"{family}{part}") for part in ("Model", "Config"))
    if family == "Luke":
        more |= {"entity_vocab_size": 4, "entity_emb_size": 4}
    folder = roberta_like(tmp_path / "model", tokenizer, model(tiny(config, tokenizer, **more)))
    study = uncone.layers(folder, [*sentences, "the dog and the bank " * 60])
    assert any("longer than" in note for note in study.notes)


def test_a_model_that_shortens_the_text_is_refused(tmp_path, loaded, sentences):
    tokenizer, _ = loaded("bert")
    config = transformers.FunnelConfig(
        vocab_size=len(tokenizer), block_sizes=[1, 1], num_decoder_layers=1, d_model=16, n_head=2, d_head=8, d_inner=16
    )
    folder = roberta_like(tmp_path / "model", tokenizer, transformers.FunnelModel(config))
    with pytest.raises(ModelError):
        uncone.layers(folder, sentences)


NORMALIZED = {
    "OPT": {"word_embed_proj_dim": 16, "ffn_dim": 16},
    "ModernBert": {"cls_token_id": 0, "sep_token_id": 2, "global_attn_every_n_layers": 1},
}


@pytest.mark.parametrize("family", NORMALIZED)
def test_a_last_layer_after_the_final_norm_is_told(family, tmp_path, loaded):
    tokenizer, _ = loaded("roberta")
    model, config = (getattr(transformers, f"{family}{part}") for part in ("Model", "Config"))
    folder = roberta_like(tmp_path / "model", tokenizer, model(tiny(config, tokenizer, **NORMALIZED[family])))
    assert "final normalization" in (open_encoder(folder).note or "")


def test_tokenizers_that_are_not_fast_are_refused():
    from uncone.encoders.transformer import Transformer

    class Slow:
        backend_tokenizer = None

    config = transformers.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    with pytest.raises(ModelError, match="not a fast one"):
        Transformer("slow", transformers.BertModel(config), Slow())


def test_autotokenizer_gives_what_was_saved(folder_of):
    """The premise of these tests: each family cuts words in its own way."""
    cuts = {family: AutoTokenizer.from_pretrained(folder_of(family)).tokenize("The dogé") for family in FAMILIES}
    assert cuts["bert"][0] == "the" and cuts["llama"][0] == "▁The" and cuts["llama"][-1] == "<0xA9>"
    assert cuts["gpt2"][-1] == "©" and cuts["t5"][0].startswith("▁")


# Words.


def spans(text):
    return [text[word.start : word.end] for word in find_words(text)]


@given(text=TEXTS)
def test_words_are_all_but_the_spaces(text):
    found = find_words(text)
    for word, following in itertools.pairwise(found):
        assert word.end <= following.start
    covered = {place for word in found for place in range(word.start, word.end)}
    assert all(0 <= word.start < word.end <= len(text) for word in found)
    assert covered == {place for place, letter in enumerate(text) if not letter.isspace()}


@given(text=st.text(st.characters(max_codepoint=127), max_size=60))
def test_the_quick_pattern_is_the_whole_one(text):
    if not any(sign in text for sign in ("@", "://", "www.")):
        whole = [
            (*found.span(), word_module._KINDS[found.lastgroup]) for found in word_module._pattern().finditer(text)
        ]
        assert find_words(text) == whole


@given(text=st.text(st.sampled_from("ab1_'.,:/stndrh-! \t"), max_size=30))
def test_the_quick_pattern_is_the_whole_one_where_it_matters(text):
    whole = [(*found.span(), word_module._KINDS[found.lastgroup]) for found in word_module._pattern().finditer(text)]
    if "://" not in text:
        assert find_words(text) == whole


@given(text=TEXTS, more=TEXTS)
def test_a_space_ends_every_word(text, more):
    """So what stands in front changes nothing behind it."""
    assert spans(f"{text} {more}") == spans(text) + spans(more)


KNOWN = {
    "It's don't rock'n'roll": ["It's", "don't", "rock'n'roll"],
    "l’été O’Neill’s": ["l’été", "O’Neill’s"],
    "'quoted' dogs'": ["'", "quoted", "'", "dogs", "'"],
    "Wait... what?!": ["Wait", "...", "what", "?", "!"],
    "3.14 1,000,000 12:30 1st 22nd.": ["3.14", "1,000,000", "12:30", "1st", "22nd", "."],
    "x3 3x a1b2": ["x3", "3", "x", "a1b2"],
    "http://a.b/c?d=1. (www.x.org), me@x.org!": [
        "http://a.b/c?d=1", ".", "(", "www.x.org", ")", ",", "me@x.org", "!",
    ],
    "中文 日本語ひらがな": ["中", "文", "日", "本", "語", "ひらがな"],
    "한국어 नमस्ते สวัสดี مرحبا": ["한국어", "नमस्ते", "สวัสดี", "مرحبا"],
    "cafe\u0301 e\u0301te\u0301": ["cafe\u0301", "e\u0301te\u0301"],
    "👍🏽👍🏿 👩\u200d🚀 🇩🇪🇫🇷 ❤️ #️⃣": ["👍🏽", "👍🏿", "👩\u200d🚀", "🇩🇪", "🇫🇷", "❤️", "#️⃣"],
    "_a_ __init__ a_b": ["_", "a", "_", "__", "init", "__", "a", "_", "b"],
    " \t\n": [],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), KNOWN.items(), ids=range(len(KNOWN)))
def test_known_words(text, expected):
    assert spans(text) == expected


def test_a_keycap_is_one_emoji():
    assert spans("press 1️⃣ now") == ["press", "1️⃣", "now"]


def test_an_address_in_capitals():
    assert spans("see HTTPS://Example.org/Path or WWW.X.ORG") == [
        "see",
        "HTTPS://Example.org/Path",
        "or",
        "WWW.X.ORG",
    ]


def test_kinds():
    text = "word 3.14 ! 中 👍🏽 ½ http://a.b १२३ नमस्ते"
    kinds = [word.kind for word in find_words(text)]
    w, n, s = Kind.WORD, Kind.NUMBER, Kind.SYMBOL
    assert kinds == [w, n, s, w, s, w, w, n, w]


@pytest.mark.parametrize("text", ["a-b_" * 4000 + "é", "a." * 8000 + " x@y.z"], ids=["hyphens", "dots"])
def test_long_runs_take_linear_time(text):
    assert grows(find_words, text) < 9, "quadratic would be 16"


@given(word=st.text(min_size=1, max_size=12))
def test_identity_is_the_same_for_all_compositions(word):
    forms = {identity(unicodedata.normalize(form, word)) for form in ("NFC", "NFD")}
    if "\u0345" not in unicodedata.normalize("NFD", word):
        assert len(forms) == 1
    assert identity(identity(word)) == identity(word)
    assert identity(word, cased=True) == unicodedata.normalize("NFC", word)
