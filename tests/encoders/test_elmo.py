"""ELMo against a route in plain loops, against nn.LSTM, and against broken files."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

import uncone
from uncone.encoders import elmo
from uncone.encoders.elmo import is_elmo, load_elmo
from uncone.errors import ModelError


def sibling(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


write_tiny_elmo = sibling("tiny_elmo").write_tiny_elmo

SENTENCES = [
    ["a"],
    ["I", "am"],
    ["unbelievably-long-words", "exactly10b", "elevenbytes", "ninebytes"],
    ["Élan", "naïve", "日本語", "👩🏽‍🚀", "ﬁ", "e\u0301"],
    ["the", "cat", "and", "the", "dog", "sat", "."],
    ["ééééééééé", "日日日日", ""],
    ["one", "two", "three", "four", "five"],
]
"""There is room for 10 bytes and two markers: longer words are cut, some in the middle of a character."""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def naive_word(tiny, inside):
    """One word: `inside` are the numbers between its markers, in the numbering of the file's own table."""
    cnn, weights = tiny["char_cnn"], tiny["weights"]
    most = cnn["max_characters_per_token"]
    numbers = [258, *inside[: most - 2], 259]
    numbers += [260] * (most - len(numbers))
    features = []
    for i, (width, number) in enumerate(cnn["filters"]):
        for n in range(number):
            windows = []
            for start in range(most - width + 1):
                total = float(weights[f"CNN/b_cnn_{i}"][n])
                for offset in range(width):
                    letter = weights["char_embed"][numbers[start + offset]].astype(np.float64)
                    total += float(letter @ weights[f"CNN/W_cnn_{i}"][0, offset, :, n])
                windows.append(total)
            features.append(max(windows))
    x = np.tanh(features) if cnn["activation"] == "tanh" else np.maximum(features, 0)
    for k in range(cnn["n_highway"]):
        w = {key.split("/")[1]: array for key, array in weights.items() if key.startswith(f"CNN_high_{k}/")}
        gate = sigmoid(x @ w["W_carry"] + w["b_carry"])
        x = gate * np.maximum(x @ w["W_transform"] + w["b_transform"], 0) + (1 - gate) * x
    return x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]


def naive_lstm(tiny, way, layer, inputs):
    lstm = tiny["lstm"]
    cell = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    w, b, p = (tiny["weights"][f"{cell}/{part}"].astype(np.float64) for part in ("W_0", "B", "W_P_0"))
    c, h = np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"])
    outputs = []
    for x in inputs:
        i, j, f, o = np.split(np.concatenate([x, h]) @ w + b, 4)
        c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
        if lstm["cell_clip"]:
            c = np.minimum(np.maximum(c, -lstm["cell_clip"]), lstm["cell_clip"])
        h = (sigmoid(o) * np.tanh(c)) @ p
        if lstm["proj_clip"]:
            h = np.minimum(np.maximum(h, -lstm["proj_clip"]), lstm["proj_clip"])
        outputs.append(h)
    return outputs


def naive_words(tiny, sentence):
    return [naive_word(tiny, inside) for inside in ([256], *(list(word.encode()) for word in sentence), [257])]


def naive(tiny, sentence, run=naive_lstm):
    """Every layer of one sentence as (words, dim)."""
    words = naive_words(tiny, sentence)
    layers = [np.array([np.concatenate([x, x]) for x in words])]
    sides = []
    for way in range(2):
        x = words if way == 0 else words[::-1]
        stack = []
        for layer in range(tiny["lstm"]["n_layers"]):
            y = run(tiny, way, layer, x)
            if layer > 0 and tiny["lstm"]["use_skip_connections"]:
                y = [new + old for new, old in zip(y, x, strict=True)]
            x = y
            stack.append(y if way == 0 else y[::-1])
        sides.append(stack)
    for ahead, back in zip(*sides, strict=True):
        layers.append(np.array([np.concatenate(pair) for pair in zip(ahead, back, strict=True)]))
    return [layer[1:-1] for layer in layers]


def check(tiny, model, sentences, run=naive_lstm):
    layers = model.encode(sentences)
    longest = max(map(len, sentences))
    assert len(layers) == model.layers
    for layer in layers:
        assert layer.shape == (len(sentences), longest, model.dim)
        assert layer.dtype == torch.float32 and not layer.requires_grad and layer.isfinite().all()
    for row, sentence in enumerate(sentences):
        for layer, expected in zip(layers, naive(tiny, sentence, run), strict=True):
            np.testing.assert_allclose(layer[row, : len(sentence)].numpy(), expected, rtol=0, atol=1e-5)


CHANGES = {
    "as it is": {},
    "tanh": {"activation": "tanh"},
    "no clipping": {"cell_clip": None, "proj_clip": 0},
    "only the cell is clipped": {"proj_clip": None},
    "only the projection is clipped": {"cell_clip": 0},
    "no skip connections": {"use_skip_connections": False},
    "three layers": {"n_layers": 3},
    "one layer": {"n_layers": 1},
    "no highway": {"n_highway": 0},
    "wide filters": {"filters": [[12, 2], [1, 1], [7, 3]]},
    "long words": {"max_characters_per_token": 50},
    "very short words": {"max_characters_per_token": 4},
    "more cells than inputs": {"dim": 16, "projection_dim": 3},
    "fewer cells than inputs": {"dim": 2, "projection_dim": 6},
}


@pytest.mark.parametrize("overrides", CHANGES.values(), ids=CHANGES.keys())
def test_every_layer_equals_the_naive_route(tmp_path, overrides):
    tiny = write_tiny_elmo(tmp_path, **overrides)
    check(tiny, load_elmo(tmp_path), SENTENCES)


def test_every_setting_of_the_tiny_model_matters(tmp_path):
    # Otherwise the test above would not see a clip, a skip or a gate that is left out.
    base = naive(write_tiny_elmo(tmp_path), SENTENCES[4])
    for change in ({"cell_clip": None}, {"proj_clip": None}, {"use_skip_connections": False}, {"activation": "tanh"}):
        other = naive(write_tiny_elmo(tmp_path, **change), SENTENCES[4])
        assert np.abs(base[-1] - other[-1]).max() > 1e-2, change


def test_a_long_sentence_and_many_words(tmp_path, monkeypatch):
    monkeypatch.setattr(elmo, "_STEPS_AT_ONCE", 4)
    monkeypatch.setattr(elmo, "_WORDS_AT_ONCE", 3)
    tiny = write_tiny_elmo(tmp_path, seed=1)
    check(tiny, load_elmo(tmp_path), [[f"word{i}" for i in range(19)], ["short"]])


def test_a_batch_equals_its_sentences_one_by_one(tmp_path):
    write_tiny_elmo(tmp_path)
    model = load_elmo(tmp_path).double()  # what is left is not rounding
    together = model.encode(SENTENCES)
    for row, sentence in enumerate(SENTENCES):
        for layer, alone in zip(together, model.encode([sentence]), strict=True):
            torch.testing.assert_close(layer[row, : len(sentence)], alone[0], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN:UserWarning")
def test_without_clipping_it_is_an_lstm_of_torch(tmp_path):
    tiny = write_tiny_elmo(tmp_path, cell_clip=None, proj_clip=None)
    size, cells = tiny["lstm"]["projection_dim"], tiny["lstm"]["dim"]

    def torch_lstm(tiny, way, layer, inputs):
        cell = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        # Torch has the gates as i, f, j, o in rows, and TensorFlow as i, j, f, o in columns.
        order = np.concatenate([np.arange(cells) + cells * gate for gate in (0, 2, 1, 3)])
        w = torch.from_numpy(tiny["weights"][f"{cell}/W_0"].T[order])
        b = torch.from_numpy(tiny["weights"][f"{cell}/B"][order])
        b[cells : 2 * cells] += 1
        lstm = torch.nn.LSTM(size, cells, proj_size=size).requires_grad_(False)
        lstm.weight_ih_l0.copy_(w[:, :size])
        lstm.weight_hh_l0.copy_(w[:, size:])
        lstm.weight_hr_l0.copy_(torch.from_numpy(tiny["weights"][f"{cell}/W_P_0"].T))
        lstm.bias_ih_l0.copy_(b)
        lstm.bias_hh_l0.zero_()
        return list(lstm(torch.from_numpy(np.array(inputs, dtype=np.float32)))[0].numpy())

    check(tiny, load_elmo(tmp_path), SENTENCES, torch_lstm)


def test_layer_0_is_the_word_twice_whatever_stands_around_it(tmp_path):
    tiny = write_tiny_elmo(tmp_path)
    model = load_elmo(tmp_path)
    assert (model.layers, model.dim, model.training) == (3, 2 * tiny["lstm"]["projection_dim"], False)
    words, above = model.encode([["dog", "bites", "dog"]])[:2]
    assert torch.equal(*words.chunk(2, dim=-1))
    assert torch.equal(words[0, 0], words[0, 2])
    assert not torch.allclose(above[0, 0], above[0, 2])


def test_nothing_to_encode(tmp_path):
    write_tiny_elmo(tmp_path)
    model = load_elmo(tmp_path)
    assert [layer.shape for layer in model.encode([])] == [(0, 0, 10)] * 3
    assert [layer.shape for layer in model.encode([[]])] == [(1, 0, 10)] * 3
    assert model.encode([[], ["word"]])[2].shape == (2, 1, 10)


def test_half_a_surrogate_pair_has_no_bytes(tmp_path):
    write_tiny_elmo(tmp_path)
    broken, whole = load_elmo(tmp_path).encode([["a\ud800b"], ["ab"]])[2]
    assert torch.equal(broken, whole)


def test_other_floats_are_read_as_float32(tmp_path):
    write_tiny_elmo(tmp_path)
    single = load_elmo(tmp_path).encode(SENTENCES)
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        array = file["CNN_proj/W_proj"][()]
        del file["CNN_proj/W_proj"]
        file["CNN_proj/W_proj"] = array.astype(">f8")
    for one, other in zip(single, load_elmo(tmp_path).encode(SENTENCES), strict=True):
        assert torch.equal(one, other)


def test_a_folder_is_recognized_by_its_two_files(tmp_path):
    assert not is_elmo(tmp_path) and not is_elmo(tmp_path / "nowhere")
    write_tiny_elmo(tmp_path, name="elmo_2x4096_512_")
    (tmp_path / "._elmo_2x4096_512_options.json").write_text("left by another system")
    assert is_elmo(tmp_path)
    assert not is_elmo(tmp_path / "elmo_2x4096_512_options.json")
    load_elmo(tmp_path)
    write_tiny_elmo(tmp_path, name="second_")
    assert not is_elmo(tmp_path)
    refused(tmp_path, "holds 2 *options.json and 2 *weights.hdf5", "one of each")


def refused(folder, *parts):
    with pytest.raises(ModelError) as caught:
        load_elmo(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_a_missing_folder(tmp_path):
    refused(tmp_path / "nowhere", "nowhere holds 0 *options.json and 0 *weights.hdf5")


@pytest.mark.parametrize("text", ["", "{", "\x00", "{'lstm': 1}"])
def test_options_that_are_not_json(tmp_path, text):
    write_tiny_elmo(tmp_path)
    (tmp_path / "options.json").write_text(text)
    refused(tmp_path, "options.json is not JSON (Expecting", "once more")


def test_options_that_are_not_text(tmp_path):
    write_tiny_elmo(tmp_path)
    (tmp_path / "options.json").write_bytes(b"\xff\xfe{")
    refused(tmp_path, "options.json is not JSON ('utf-8' codec", "once more")


@pytest.mark.parametrize("text", ["[]", "3", '{"char_cnn": []}', '{"lstm": {}}'])
def test_options_of_something_else(tmp_path, text):
    write_tiny_elmo(tmp_path)
    (tmp_path / "options.json").write_text(text)
    refused(tmp_path, "has no char_cnn", "is it ELMo's own options.json?")


NEEDED = [
    ("lstm", ("projection_dim", "dim", "n_layers")),
    ("char_cnn", ("activation", "filters", "n_highway", "embedding", "max_characters_per_token")),
]


@pytest.mark.parametrize(("section", "key"), [(section, key) for section, keys in NEEDED for key in keys])
def test_options_that_lack_a_key(tmp_path, section, key):
    options = {name: dict(part) for name, part in write_tiny_elmo(tmp_path).items() if name != "weights"}
    del options[section][key]
    (tmp_path / "options.json").write_text(json.dumps(options))
    refused(tmp_path, f"has no {section}.{key}, which ELMo needs")


@pytest.mark.parametrize(
    ("section", "key", "value", "need"),
    [
        ("char_cnn", "activation", "gelu", "relu or tanh"),
        ("char_cnn", "activation", ["relu"], "relu or tanh"),
        ("char_cnn", "filters", [], "a list of [width, number] pairs"),
        ("char_cnn", "filters", [[1, 2, 3]], "a list of [width, number] pairs"),
        ("char_cnn", "filters", [[0, 2]], "a list of [width, number] pairs"),
        ("char_cnn", "max_characters_per_token", 3, "a whole number, 4 or more"),
        ("char_cnn", "n_highway", -1, "a whole number, 0 or more"),
        ("lstm", "dim", "7", "a whole number, 1 or more"),
        ("lstm", "n_layers", True, "a whole number, 1 or more"),
        ("lstm", "cell_clip", -3, "0 or more"),
        ("lstm", "proj_clip", "3", "0 or more"),
        ("lstm", "proj_clip", float("nan"), "0 or more"),
    ],
)
def test_options_that_cannot_be(tmp_path, section, key, value, need):
    options = {name: dict(part) for name, part in write_tiny_elmo(tmp_path).items() if name != "weights"}
    options[section][key] = value
    (tmp_path / "options.json").write_text(json.dumps(options))
    refused(tmp_path, f"sets {section}.{key} to {value!r}, and it must be {need}", "is it ELMo's own options.json?")


def test_clips_and_skips_may_be_absent(tmp_path):
    tiny = write_tiny_elmo(tmp_path, cell_clip=None, proj_clip=None, use_skip_connections=False)
    options = {name: dict(part) for name, part in tiny.items() if name != "weights"}
    for key in ("cell_clip", "proj_clip", "use_skip_connections"):
        del options["lstm"][key]
    (tmp_path / "options.json").write_text(json.dumps(options))
    check(tiny, load_elmo(tmp_path), SENTENCES[:2])


def test_every_array_is_needed_in_its_shape(tmp_path):
    for key, array in write_tiny_elmo(tmp_path)["weights"].items():
        with h5py.File(tmp_path / "weights.hdf5", "a") as file:
            del file[key]
        refused(tmp_path, f"weights.hdf5 has no array {key}", str(array.shape), "belong to the same model?")
        for wrong in (array[..., :-1], array[None], array.astype(int), np.full(array.shape, b"x")):
            with h5py.File(tmp_path / "weights.hdf5", "a") as file:
                file[key] = wrong
            need = f"and its options.json asks for floats of shape {array.shape}"
            refused(tmp_path, f"{key} is {wrong.dtype} of shape {wrong.shape}, {need}", "belong to the same model?")
            with h5py.File(tmp_path / "weights.hdf5", "a") as file:
                del file[key]
        with h5py.File(tmp_path / "weights.hdf5", "a") as file:
            file[key] = array
    load_elmo(tmp_path)


def test_a_group_is_no_array(tmp_path):
    write_tiny_elmo(tmp_path)
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        del file["char_embed"]
        file.create_group("char_embed")
    refused(tmp_path, "has no array char_embed")


@pytest.mark.parametrize("value", [np.float32("nan"), np.float32("-inf"), np.float64(1e300)])
def test_weights_that_are_not_finite(tmp_path, value):
    write_tiny_elmo(tmp_path)
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        del file["CNN_proj/b_proj"]
        file["CNN_proj/b_proj"] = np.full(5, value)
    refused(tmp_path, "CNN_proj/b_proj holds NaN or infinity", "once more")


@pytest.mark.parametrize("kept", [0, 100, 0.5, 0.999])
def test_damaged_weights(tmp_path, kept):
    write_tiny_elmo(tmp_path)
    path = tmp_path / "weights.hdf5"
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    refused(tmp_path, "weights.hdf5 is not whole HDF5 (", "once more")


def test_overwritten_weights(tmp_path):
    write_tiny_elmo(tmp_path)
    path = tmp_path / "weights.hdf5"
    path.write_text("<html>not found</html>")
    refused(tmp_path, "weights.hdf5 is not whole HDF5 (", "once more")


def test_layers_of_elmo_equal_a_naive_computation(tmp_path):
    write_tiny_elmo(tmp_path)
    words = ["river", "bank", "the", "money", "é", "!"]
    rng = np.random.default_rng(0)
    texts = list(dict.fromkeys(" ".join(rng.choice(words, rng.integers(2, 7))) for _ in range(40)))
    study = uncone.layers(tmp_path, texts)
    model = load_elmo(tmp_path)
    assert study.source["model_kind"] == "ELMo" and len(study.layers) == model.layers == 3
    for number, layer in enumerate(study.layers):
        rows = [model.encode([text.split()])[number][0].numpy().astype(np.float64) for text in texts]
        units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows]
        pairs = [
            float((a @ b.T).mean() * len(a) * len(b))
            for i, a in enumerate(units)
            for j, b in enumerate(units)
            if i != j
        ]
        count = sum(len(a) * len(b) for i, a in enumerate(units) for j, b in enumerate(units) if i != j)
        assert layer["baseline"].value == pytest.approx(sum(pairs) / count, abs=1e-5)
        intrasim = [
            float((unit @ part.mean(axis=0)).mean() / np.linalg.norm(part.mean(axis=0)))
            for part, unit in zip(rows, units, strict=True)
            if len(part) > 1
        ]
        assert layer["intrasim"].value == pytest.approx(np.mean(intrasim), abs=1e-5)
    # Layer 0 knows no context: a word is the same everywhere.
    assert study[0]["selfsim"].value == pytest.approx(1, abs=1e-5)
    assert study[2]["selfsim"].value < 0.9999
