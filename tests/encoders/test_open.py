"""Texts through a model: against plain transformers, against sentence-transformers, and as `check --model` tells it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging

from uncone.cli.main import _run
from uncone.data.texts.texts import ListTexts, open_texts
from uncone.encoders.open import Loading, open_encoder, sentence_source
from uncone.errors import MissingModelError, ModelError, OptionError, ShapeError

LONGEST = 24
WORDS = [
    "the",
    "cat",
    "dog",
    "house",
    "river",
    "sees",
    "likes",
    "crosses",
    "a",
    "small",
    "red",
    "green",
    "old",
    "street",
    "with",
    "and",
    "in",
    "at",
    "night",
    "joy",
]


def sentences(n=70, seed=0):
    """From one word to far more than the model takes, in no order of length."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(1, 40))) + "." for _ in range(n)]


TEXTS = sentences()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    logging.disable_progress_bar()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=70, special_tokens=special, show_progress=False)
    made.train_from_iterator([*TEXTS, "query: "], trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=LONGEST, **names)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    folder = tmp_path_factory.mktemp("models") / "tiny"
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def packed(tiny, tmp_path_factory):
    """A maker of sentence-transformers folders, each made once."""
    root, made = tmp_path_factory.mktemp("packed"), {}

    def make(name, pooling="mean", *, dense=False, normalize=True, prompts=None, default=None, length=None):
        if name not in made:
            torch.manual_seed(1)
            parts = [Transformer(str(tiny)), Pooling(16, pooling_mode=pooling)]
            parts += [Dense(16, 8)] if dense else []
            parts += [Normalize()] if normalize else []
            whole = SentenceTransformer(modules=parts, device="cpu", prompts=prompts, default_prompt_name=default)
            if length:
                whole.max_seq_length = length
            whole.save(str(root / name))
            made[name] = root / name
        return made[name]

    return make


def vectors(model, texts=TEXTS, **options):
    source = sentence_source(ListTexts(texts), model, **options)
    return np.concatenate([rows.vectors for rows in source.read()])


def theirs(folder, texts=TEXTS, **options):
    return SentenceTransformer(str(folder), device="cpu").encode(texts, show_progress_bar=False, **options)


def naive(folder, texts=TEXTS, layers=(-1,), pooling="mean", prompt=""):
    """One text at a time, no padding, no batches."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = []
    for text in texts:
        given = tokenizer(prompt + text, return_tensors="pt", truncation=True, max_length=LONGEST)
        with torch.no_grad():
            states = model(**given, output_hidden_states=True).hidden_states
        pooled = []
        for layer in layers:
            rows = states[layer][0].double().numpy()
            ways = {"mean": rows.mean(axis=0), "cls": rows[0], "max": rows.max(axis=0), "last": rows[-1]}
            pooled.append(ways[pooling])
        found.append(np.mean(pooled, axis=0))
    return np.array(found)


# --- plain transformers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
@pytest.mark.parametrize(("layer", "layers"), [(None, [-1]), ("0", [0]), ("2", [2]), ("1,-1", [1, -1])])
def test_plain_pooling(tiny, pooling, layer, layers):
    got = vectors(tiny, pooling=pooling, layer=layer)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, naive(tiny, layers=layers, pooling=pooling), atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_a_prompt(tiny, pooling):
    got = vectors(tiny, prompt="query: ", pooling=pooling)
    np.testing.assert_allclose(got, naive(tiny, pooling=pooling, prompt="query: "), atol=1e-5)
    assert np.abs(got - vectors(tiny, pooling=pooling)).max() > 1e-3


@pytest.mark.parametrize("batch_size", [1, 3, 8, 1000])
def test_batches_sorted_by_length_keep_the_order(tiny, batch_size):
    np.testing.assert_allclose(vectors(tiny, batch_size=batch_size), naive(tiny), atol=1e-5)


def test_more_texts_than_a_pool(tiny):
    texts = sentences(1100, seed=1)
    got = vectors(tiny, texts)
    assert len(got) == 1100
    chosen = [0, 500, 1023, 1024, 1099]
    np.testing.assert_allclose(got[chosen], naive(tiny, [texts[i] for i in chosen]), atol=1e-5)


def test_half_precision_is_near(tiny):
    got = vectors(tiny, loading=Loading(dtype="float16"))
    np.testing.assert_allclose(got, naive(tiny), atol=0.05)


def test_blank_texts_are_bad_rows(tiny):
    texts = ["", *TEXTS[:9], " \t", *TEXTS[9:20], "\u3000"]
    got = vectors(tiny, texts, prompt="query: ")
    bad = np.isnan(got).all(axis=1)
    assert np.flatnonzero(bad).tolist() == [0, 10, 22]
    np.testing.assert_allclose(got[~bad], naive(tiny, TEXTS[:20], prompt="query: "), atol=1e-5)


def test_truncation_is_said(tiny):
    source = sentence_source(ListTexts(TEXTS), tiny)
    list(source.read())
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    long = sum(len(tokenizer(text, truncation=False)["input_ids"]) > LONGEST for text in TEXTS)
    assert 0 < long < len(TEXTS)
    assert f"{long} texts truncated to {LONGEST} tokens" in source.note


def test_a_limit_and_too_few(tiny):
    assert len(vectors(tiny, limit=5)) == 5
    with pytest.raises(ShapeError, match="at least 2"):
        vectors(tiny, ["one"])


@pytest.mark.parametrize(
    ("layer", "says"), [("99", "layers 0 to 3"), ("-5", "0 to 3"), ("x", "such as"), ("1,", "such as")]
)
def test_layers_that_are_not_there(tiny, layer, says):
    with pytest.raises(OptionError, match=says):
        vectors(tiny, layer=layer)


def test_a_pooling_that_is_not_there(tiny):
    with pytest.raises(OptionError, match="mean, cls, max, last"):
        vectors(tiny, pooling="median")


# --- what can be opened ------------------------------------------------------------------------------------------


def test_an_encoder_stays_what_it_is(tiny):
    encoder = open_encoder(tiny)
    assert open_encoder(encoder) is encoder
    assert (encoder.layers, encoder.dim, encoder.window) == (4, 16, LONGEST)
    np.testing.assert_allclose(vectors(encoder), naive(tiny), atol=1e-5)


def test_the_fingerprint_knows_the_weights(tiny):
    shutil.copytree(tiny, "other")
    before = open_encoder("other").fingerprint()
    weights = load_file("other/model.safetensors")
    weights["encoder.layer.2.output.dense.bias"][0] += 0.25
    save_file(weights, "other/model.safetensors", metadata={"format": "pt"})
    assert open_encoder("other").fingerprint() != before


def test_the_fingerprint_is_of_the_content(tiny):
    shutil.copytree(tiny, "copy")
    assert open_encoder("copy").fingerprint() == open_encoder(tiny).fingerprint()


@pytest.mark.parametrize("name", ["nowhere/at/all", "./nowhere", "/nowhere", "~/nowhere", " "])
def test_a_path_is_not_looked_for_on_the_hub(name, monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked the hub"))
    with pytest.raises(MissingModelError, match="Check the path"):
        open_encoder(name)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("LocalEntryNotFoundError", "can't be reached"),
        ("OfflineModeIsEnabled", "can't be reached"),
        ("RepositoryNotFoundError", "no public model of that name"),
        ("GatedRepoError", "hf auth login"),
        ("RevisionNotFoundError", "no revision v2"),
        ("HFValidationError", "valid name"),
        ("HfHubHTTPError", "downloaded"),
    ],
)
def test_trouble_with_the_hub_is_told_in_our_words(kind, words, monkeypatch):
    import huggingface_hub

    error = getattr(huggingface_hub.errors, kind)

    def fail(*_, **__):
        # Some of these want the response of a server, which says nothing here.
        raise error.__new__(error, "the client's own words")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(MissingModelError) as caught:
        open_encoder("someone/model", Loading(revision="v2"))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    if kind != "HfHubHTTPError":
        assert "client" not in str(caught.value)


def test_what_is_asked_of_the_hub(tiny, monkeypatch):
    import huggingface_hub

    asked = []

    def give(name, **options):
        asked.append((name, options["revision"], options["allow_patterns"]))
        return str(tiny)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
    assert open_encoder("owner/name", Loading(revision="abc")).name == "owner/name"
    assert open_encoder("owner/name", Loading(allow_pickle=True)).layers == 4
    assert [one[:2] for one in asked] == [("owner/name", "abc"), ("owner/name", None)]
    assert "*.bin" not in asked[0][2] and "*.bin" in asked[1][2]


def test_weights_that_lack_are_no_model(tiny):
    shutil.copytree(tiny, "half")
    kept = {name: one for name, one in load_file("half/model.safetensors").items() if "layer.2." not in name}
    save_file(kept, "half/model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="weights"):
        open_encoder("half")


def test_a_pooler_that_lacks_is_no_matter(tiny):
    shutil.copytree(tiny, "headless")
    kept = {name: one for name, one in load_file("headless/model.safetensors").items() if "pooler" not in name}
    save_file(kept, "headless/model.safetensors", metadata={"format": "pt"})
    np.testing.assert_array_equal(vectors("headless"), vectors(tiny))


# --- sentence-transformers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"])
def test_packed_pooling(packed, pooling):
    folder = packed(pooling, pooling)
    np.testing.assert_allclose(vectors(folder), theirs(folder), atol=1e-5)


def test_packed_without_normalizing(packed):
    folder = packed("long", normalize=False)
    np.testing.assert_allclose(vectors(folder), theirs(folder), atol=1e-5)
    np.testing.assert_allclose(vectors(folder, prompt="query: "), theirs(folder, prompt="query: "), atol=1e-5)


def test_packed_with_more_modules(packed):
    folder = packed("dense", dense=True)
    got = vectors(folder)
    assert got.shape == (len(TEXTS), 8)
    np.testing.assert_allclose(got, theirs(folder), atol=1e-5)
    np.testing.assert_allclose(
        vectors(folder, prompt="query: ", batch_size=3), theirs(folder, prompt="query: "), atol=1e-5
    )


def test_packed_and_two_poolings(packed):
    folder = packed("two", ("mean", "max"), normalize=False)
    got = vectors(folder)
    assert got.shape == (len(TEXTS), 32)
    np.testing.assert_allclose(got, theirs(folder), atol=1e-5)


def test_packed_with_a_length_of_its_own(packed):
    folder = packed("short", length=8)
    np.testing.assert_allclose(vectors(folder), theirs(folder), atol=1e-5)


def test_packed_the_old_way(packed):
    """As before 2021: the transformer in a folder of its own, with its length there."""
    shutil.copytree(packed("mean"), "old")
    Path("old/0_Transformer").mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.move(f"old/{name}", f"old/0_Transformer/{name}")
    Path("old/sentence_bert_config.json").unlink()
    settings = {"max_seq_length": 8, "do_lower_case": False}
    Path("old/0_Transformer/sentence_bert_config.json").write_text(json.dumps(settings))
    modules = json.loads(Path("old/modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    Path("old/modules.json").write_text(json.dumps(modules))
    np.testing.assert_allclose(vectors("old"), theirs("old"), atol=1e-5)


def test_a_layer_or_pooling_of_ones_own_leaves_the_recipe(packed, tiny):
    folder = packed("dense", dense=True)
    np.testing.assert_allclose(vectors(folder, layer="1"), naive(tiny, layers=[1]), atol=1e-5)
    np.testing.assert_allclose(vectors(folder, pooling="cls"), naive(tiny, pooling="cls"), atol=1e-5)


def test_packed_with_a_prompt_by_default(packed):
    folder = packed("prompted", prompts={"query": "the cat sees "}, default="query")
    np.testing.assert_allclose(vectors(folder), theirs(folder), atol=1e-5)


def test_packed_with_a_prompt_that_is_not_pooled(packed):
    shutil.copytree(packed("mean"), "bare")
    config = json.loads(Path("bare/1_Pooling/config.json").read_text())
    Path("bare/1_Pooling/config.json").write_text(json.dumps(config | {"include_prompt": False}))
    np.testing.assert_allclose(vectors("bare", prompt="the cat "), theirs("bare", prompt="the cat "), atol=1e-5)


def test_a_limit_holds_for_every_module(packed):
    assert len(vectors(packed("dense", dense=True), limit=5)) == 5


def test_blank_texts_for_every_module(packed):
    got = vectors(packed("dense", dense=True), [*TEXTS[:3], "  ", *TEXTS[3:6]])
    assert np.flatnonzero(np.isnan(got).all(axis=1)).tolist() == [3]


def stranger(packed):
    shutil.copytree(packed("mean"), "stranger")
    modules = json.loads(Path("stranger/modules.json").read_text())
    modules.append({"idx": 9, "name": "9", "path": "", "type": "stranger.Module"})
    Path("stranger/modules.json").write_text(json.dumps(modules))
    Path("stranger/stranger.py").write_text("open('exploded', 'w')\n")


def test_code_that_a_module_brings_is_not_run(packed):
    stranger(packed)
    with pytest.raises(ModelError):
        vectors("stranger")
    assert not Path("exploded").exists()


def test_code_that_a_module_brings_can_be_trusted(packed):
    stranger(packed)
    with pytest.raises(ModelError, match="--trust-remote-code"):
        vectors("stranger")


def test_loading_is_silent(packed, capfd):
    folder = packed("dense", dense=True)
    logging.enable_progress_bar()
    capfd.readouterr()
    try:
        vectors(folder)
    finally:
        logging.disable_progress_bar()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("content", ["{", "[]x", '[{"type": 1, "path": ""}]', '[{"kind": "x"}]', '{"a": 1}', "[1]"])
def test_modules_that_cannot_be_read(tiny, content):
    shutil.copytree(tiny, "broken")
    Path("broken/modules.json").write_text(content)
    with pytest.raises(ModelError, match=r"modules\.json"):
        vectors("broken")


# --- static vectors ----------------------------------------------------------------------------------------------


def static():
    rng = np.random.default_rng(0)
    table = {word: rng.normal(size=5).round(4) for word in WORDS}
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in table.items()]
    Path("words.vec").write_text(f"{len(table)} 5\n" + "\n".join(lines) + "\n")
    return table


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
def test_static_vectors(pooling):
    table = static()
    texts = ["the cat", "THE Cat sees a zebra!", "zebra unicorn", "a small red house.", "unicorn", "", "river"]
    known = [["the", "cat"], ["the", "cat", "sees", "a"], [], ["a", "small", "red", "house"], [], None, ["river"]]
    ways = {"mean": lambda r: r.mean(0), "cls": lambda r: r[0], "max": lambda r: r.max(0), "last": lambda r: r[-1]}
    got = vectors("words.vec", texts, pooling=pooling)
    for row, words in zip(got, known, strict=True):
        if words is None:
            assert np.isnan(row).all()
        elif not words:
            assert (row == 0).all()
        else:
            np.testing.assert_allclose(row, ways[pooling](np.array([table[word] for word in words])), atol=1e-5)


def test_static_vectors_without_any_of_the_words():
    static()
    with pytest.raises(ModelError, match="none of the 2 words"):
        vectors("words.vec", ["zebra", "unicorn", "zebra"])


# --- the command -------------------------------------------------------------------------------------------------


def checked(*arguments, capfd):
    assert _run(["check", *map(str, arguments), "--no-html", "--json", "-"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return json.loads(out)


def test_check_measures_the_vectors_of_the_texts(tiny, capfd):
    Path("t.txt").write_text("\n".join(TEXTS) + "\n")
    got = checked("t.txt", "--model", tiny, "--layer", "1,-1", "--pooling", "max", "--prompt", "query: ", capfd=capfd)
    np.save("v.npy", naive(tiny, layers=[1, -1], pooling="max", prompt="query: ").astype(np.float32))
    want = checked("v.npy", capfd=capfd)
    for name in ("baseline", "effective_rank"):
        assert got["findings"][name]["value"] == pytest.approx(want["findings"][name]["value"], rel=1e-4)
    assert "layer 1, 3, max pooling, prompt 'query: '" in got["provenance"]["reading"]
    assert got["source"]["rows"] == len(TEXTS) and got["source"]["dimensions"] == 16


def test_check_counts_blank_texts_as_bad_rows(tiny, capfd):
    Path("t.txt").write_text("\n".join([*TEXTS, "", "  "]) + "\n")
    found = checked("t.txt", "--model", tiny, "--batch-size", 8, capfd=capfd)["findings"]
    assert found["bad_rows"]["value"] == 2


def test_labels_stay_with_their_texts(tiny):
    rows = [f"{text.rstrip('.')},{len(text)}" for text in TEXTS]
    Path("t.csv").write_text("text,size\n" + "\n".join(rows) + "\n")
    source = sentence_source(open_texts("t.csv", text=["text"], label="size"), tiny, batch_size=4)
    got = list(source.read())
    texts = [text for one in got for text in one.texts]
    labels = [label for one in got for label in one.labels]
    assert [int(label) for label in labels] == [len(text) + 1 for text in texts]
    assert texts == [text.rstrip(".") for text in TEXTS]
    np.testing.assert_allclose(np.concatenate([one.vectors for one in got]), naive(tiny, texts), atol=1e-5)


def test_check_colors_the_map_by_label(tiny, capfd):
    rows = [f"{text},{'long' if len(text) > 60 else 'short'}" for text in TEXTS]
    Path("t.csv").write_text("text,size\n" + "\n".join(rows) + "\n")
    assert _run(["check", "t.csv", "--model", str(tiny), "--text", "text", "--label", "size", "--html", "p.html"]) == 0
    page = Path("p.html").read_text()
    assert "long" in page and "short" in page


def test_check_with_static_vectors(capfd):
    static()
    Path("t.txt").write_text("\n".join([*TEXTS, "zebra"]) + "\n")
    found = checked("t.txt", "--model", "words.vec", capfd=capfd)
    assert found["source"]["dimensions"] == 5 and found["findings"]["zero_vectors"]["value"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "{tiny}", "--layer", "99"], "layers 0 to 3"),
        (["--model", "{tiny}", "--pooling", "nonsense"], 'Choose from: "mean", "cls", "max", "last"'),
        (["--model", "{tiny}", "--limit", "1"], "--limit must be at least 2, not 1"),
        (["--model", "{tiny}", "--batch-size", "0"], "--batch-size must be at least 1, not 0"),
        (["--model", "{tiny}", "--label", "x"], "bare texts have no columns"),
        (["--model", "nowhere/at/all"], "no model folder"),
        (["--layer", "1"], "name a model with --model"),
        (["--prompt", "x"], "name a model with --model"),
        (["--limit", "9"], "name a model with --model"),
    ],
)
def test_check_says_what_is_wrong(arguments, says, tiny, capfd):
    Path("t.txt").write_text("\n".join(TEXTS) + "\n")
    assert _run(["check", "t.txt", *(word.format(tiny=tiny) for word in arguments)]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("uncone: ") and err.count("\n") == 1 and says in err
    assert [path.name for path in Path().iterdir()] == ["t.txt"]


def test_check_does_not_overwrite_its_model(capfd):
    static()
    Path("t.txt").write_text("\n".join(TEXTS) + "\n")
    before = Path("words.vec").read_bytes()
    assert _run(["check", "t.txt", "--model", "words.vec", "--no-html", "--json", "words.vec"]) == 2
    assert Path("words.vec").read_bytes() == before


@pytest.mark.parametrize("option", ["--column", "--tensor"])
def test_options_of_vectors_are_not_for_texts(option, tiny, capfd):
    Path("t.txt").write_text("\n".join(TEXTS) + "\n")
    assert _run(["check", "t.txt", "--model", str(tiny), "--no-html", option, "x"]) == 2
