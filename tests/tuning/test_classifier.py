"""The classifier: frozen layers that run once, what the head sees, and predictions in any order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, GPT2Config, LlamaConfig

from uncone.errors import ModelError, OptionError, ShapeError
from uncone.tuning.classifier import FitSettings, build, default_lr, fit, head_inputs, layer_vectors, predict, train
from uncone.tuning.surgery import Surgery, blocks_of
from uncone.tuning.tasks import Items

SETTINGS = FitSettings(epochs=3, batch_size=8, lr=5e-3, max_length=16)
CAUSAL = {
    "llama": LlamaConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
        intermediate_size=16, vocab_size=80),
    "gpt2": GPT2Config(vocab_size=80, n_embd=16, n_layer=2, n_head=2),
}  # fmt: skip


def items(n=40, seed=0, pairs=False):
    """Texts of the class "go" have the word in them."""
    rng = np.random.default_rng(seed)
    labels = ["go" if i % 2 else "stay" for i in range(n)]
    fill = [" ".join(rng.choice(["the", "text", "a", "b", "school"], int(rng.integers(1, 8)))) for _ in range(n)]
    left = [f"{words} {'go' if label == 'go' else '.'}" for words, label in zip(fill, labels, strict=True)]
    return Items(left, ["the end"] * n if pairs else None, labels)


@pytest.fixture
def causal_model(request, tiny_model, tmp_path):
    torch.manual_seed(0)
    AutoModel.from_config(CAUSAL[request.param]).save_pretrained(tmp_path / "causal")
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.cls_token = None
    tokenizer.save_pretrained(tmp_path / "causal")
    return tmp_path / "causal"


def weights(classifier):
    return {name: value.clone() for name, value in classifier.state_dict().items()}


def layers(*numbers):
    return Surgery(freeze=frozenset(numbers))


@pytest.mark.parametrize("surgery", [layers(0), layers(0, 1), layers(0, 1, 2)], ids=["embeddings", "first", "head"])
@pytest.mark.parametrize("pairs", [False, True])
def test_training_is_the_same_with_and_without_reuse(tiny_model, surgery, pairs):
    data = items(pairs=pairs)
    with_it, without = (
        fit(tiny_model, data, ("go", "stay"), replace(SETTINGS, reuse=reuse), surgery=surgery)
        for reuse in (True, False)
    )
    for name, value in weights(with_it).items():
        torch.testing.assert_close(value, without.state_dict()[name], atol=2e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("causal_model", CAUSAL, indirect=True)
@pytest.mark.parametrize("surgery", [layers(0, 1), layers(0, 1, 2)], ids=["first", "head"])
def test_reuse_in_causal_models(causal_model, surgery):
    logits = [
        predict(fit(causal_model, items(), ("go", "stay"), replace(SETTINGS, reuse=reuse), surgery=surgery), items())
        for reuse in (True, False)
    ]
    np.testing.assert_allclose(*logits, atol=1e-4)


def test_frozen_layers_run_once(tiny_model):
    calls = {"embeddings": 0, "first": 0, "second": 0}
    classifier = build(tiny_model, ("go", "stay"), SETTINGS, surgery=layers(0, 1))
    first, second = blocks_of(classifier.encoder)
    for name, part in zip(calls, (classifier.encoder.embeddings, first, second), strict=True):
        part.register_forward_hook(lambda *_, name=name: calls.__setitem__(name, calls[name] + 1))
    train(classifier, items())
    assert calls["embeddings"] == 1 + 15, "once in full, then as a stand-in that only passes states on"
    assert calls["second"] == 15


@pytest.mark.parametrize("surgery", [layers(0), layers(2), layers(0, 1), layers(0, 1, 2)])
def test_frozen_parameters_are_bit_identical(tiny_model, surgery):
    classifier = build(tiny_model, ("go", "stay"), SETTINGS, surgery=surgery)
    before = weights(classifier)
    train(classifier, items())
    after = weights(classifier)
    parts = {0: "encoder.embeddings", 1: "encoder.encoder.layer.0", 2: "encoder.encoder.layer.1"}
    for layer, part in parts.items():
        same = [bool((before[name] == after[name]).all()) for name in before if name.startswith(part)]
        assert all(same) == (layer in surgery.freeze)
    assert not torch.equal(before["head.weight"], after["head.weight"])


def test_the_task_is_learned_and_the_seed_decides(tiny_model):
    settings = replace(SETTINGS, epochs=8)
    first, again = (fit(tiny_model, items(80), ("go", "stay"), settings) for _ in range(2))
    logits = predict(first, items(60, seed=1))
    assert logits.shape == (60, 2)
    np.testing.assert_array_equal(logits, predict(again, items(60, seed=1)))
    truth = [("go", "stay").index(label) for label in items(60, seed=1).labels]
    assert (logits.argmax(axis=1) == truth).mean() > 0.9


def test_what_the_head_sees_is_the_vector_of_cls(tiny_model):
    classifier = build(tiny_model, ("go", "stay"), SETTINGS)
    data = items(10)
    model, tokenizer = AutoModel.from_pretrained(tiny_model).eval(), AutoTokenizer.from_pretrained(tiny_model)
    for row, text in enumerate(data.left):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        vectors = layer_vectors(classifier, data)
        for layer, state in enumerate(states):
            np.testing.assert_allclose(vectors[layer][row], state[0, 0], atol=1e-5)
        np.testing.assert_allclose(head_inputs(classifier, data)[row], states[-1][0, 0], atol=1e-5)
        np.testing.assert_allclose(layer_vectors(classifier, data, "mean")[-1][row], states[-1][0].mean(0), atol=1e-5)


@pytest.mark.parametrize("causal_model", ["llama"], indirect=True)
def test_causal_models_are_read_at_their_last_token(causal_model):
    classifier, data = build(causal_model, ("go", "stay"), SETTINGS), items(6)
    model, tokenizer = AutoModel.from_pretrained(causal_model).eval(), AutoTokenizer.from_pretrained(causal_model)
    for row, text in enumerate(data.left):
        with torch.no_grad():
            last = model(input_ids=tokenizer(text, return_tensors="pt")["input_ids"]).last_hidden_state[0, -1]
        np.testing.assert_allclose(head_inputs(classifier, data)[row], last, atol=1e-5)


def test_batches_do_not_change_predictions_without_a_bridge(tiny_model):
    classifier, data = build(tiny_model, ("go", "stay"), SETTINGS), items(30)
    order = np.random.default_rng(0).permutation(30)
    expected = predict(classifier, data)
    np.testing.assert_allclose(predict(classifier, data, batch_size=7, order=order), expected, atol=1e-6)
    np.testing.assert_allclose(predict(classifier, data, batch_size=1), expected, atol=1e-6)


def test_watchers_see_every_epoch(tiny_model):
    epochs, steps = [], []
    fit(
        tiny_model,
        items(),
        ("go", "stay"),
        SETTINGS,
        before_epoch=lambda model, epoch: epochs.append((epoch, "before", model.training)),
        after_epoch=lambda model, epoch: epochs.append((epoch, "after", len(predict(model, items(4))))),
        progress=lambda step, amount, total: steps.append((amount, total)),
    )
    assert [(epoch, when) for epoch, when, _ in epochs] == [
        (i, when) for i in (1, 2, 3) for when in ("before", "after")
    ]
    assert steps == [(1, 15)] * 15


def test_bad_input(tiny_model):
    with pytest.raises(ShapeError, match=r"7 items to train on, fewer than a batch of 8.*--batch-size"):
        fit(tiny_model, items(7), ("go", "stay"), SETTINGS)
    with pytest.raises(OptionError, match="no layer 3; the model has layers 1 to 2"):
        build(tiny_model, ("go", "stay"), SETTINGS, surgery=layers(1, 3))
    with pytest.raises(OptionError, match="no pooling 'max'"):
        FitSettings(pooling="max")
    with pytest.raises(ModelError, match=r"no longer a number.*Try --lr"):
        fit(tiny_model, items(), ("go", "stay"), replace(SETTINGS, lr=1e30, epochs=6))


def test_wide_models_get_small_learning_rates():
    assert [default_lr(width) for width in (128, 256)] == [5e-4, 5e-4]
    assert 2e-5 < default_lr(768) < 5e-5
