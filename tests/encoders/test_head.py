"""Language-model heads of tiny models of several families: against the logits of the whole model."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedTokenizerFast
from transformers.utils import logging

from uncone.encoders.encoder import Window
from uncone.encoders.head import Head
from uncone.encoders.open import Loading, open_encoder
from uncone.encoders.static import StaticEncoder

TEXT = "the old cat sees a small red house and the dog likes the river at"
WORDS = sorted(set(TEXT.split()))
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 32}
FAMILIES = {
    "bert": ("BertForMaskedLM", "BertConfig", {**SIZES, "max_position_embeddings": 32}),
    "pretrained": ("BertForPreTraining", "BertConfig", {**SIZES, "max_position_embeddings": 32}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**SIZES, "max_position_embeddings": 36, "pad_token_id": 0}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", DISTIL),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {**SIZES, "embedding_size": 8, "max_position_embeddings": 32}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**SIZES, "tie_word_embeddings": False}),
    "tied": ("LlamaForCausalLM", "LlamaConfig", {**SIZES, "tie_word_embeddings": True}),
}


def tokenizer():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    inner = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, mask_token="[MASK]", **names)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A maker of model folders, each made once."""
    logging.disable_progress_bar()
    root, made = tmp_path_factory.mktemp("heads"), {}

    def make(family, **more):
        name = family + "".join(f"-{key}-{value}" for key, value in more.items())
        if name not in made:
            torch.manual_seed(3)
            kind, config, sizes = FAMILIES[family]
            settings = getattr(transformers, config)(vocab_size=len(WORDS) + 5, **{**sizes, **more})
            model = getattr(transformers, kind)(settings).eval()
            for key, weight in model.named_parameters():
                if key.endswith("bias"):
                    torch.nn.init.normal_(weight)  # they begin as zeros, which would hide a bias that is forgotten
            model.save_pretrained(root / name)
            tokenizer().save_pretrained(root / name)
            made[name] = root / name
        return made[name]

    return make


def states_of(encoder, text=TEXT):
    passage = encoder.passages([text], Window())[0][0]
    places = np.arange(passage.length)
    return passage, encoder.encode([passage]).pooled(encoder.layers - 1, places, places)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_logits_of_the_whole_model(saved, family):
    folder = saved(family)
    encoder = open_encoder(folder)
    head = encoder.head()
    assert head is not None, encoder.head_note
    passage, states = states_of(encoder)
    causal = FAMILIES[family][0].endswith(("CausalLM", "LMHeadModel"))
    whole = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_pretrained(folder).eval()
    with torch.no_grad():
        expected = whole(input_ids=torch.tensor([list(passage.tokens)])).logits[0].numpy()
    assert expected.std() > 0.05
    np.testing.assert_allclose(head.logits(states), expected, atol=2e-5)
    linear = head.transformed(states) @ head.matrix.T + head.bias
    np.testing.assert_allclose(linear, expected, atol=2e-5)
    assert head.causal == causal
    assert head.mask == (None if causal else 4)
    assert head.tied == (family != "llama")
    assert head.matrix.dtype == np.float32 and encoder.head_note is None
    assert encoder.head() is head


def test_the_encoder_goes_on_as_before(saved):
    encoder = open_encoder(saved("bert"))
    before = states_of(encoder)[1]
    assert encoder.head() is not None
    np.testing.assert_array_equal(states_of(encoder)[1], before)


def test_the_mean_of_logits_is_the_logit_of_the_mean(saved):
    encoder = open_encoder(saved("bert"))
    head, states = encoder.head(), states_of(encoder)[1]
    mean = head.matrix @ head.transformed(states).mean(axis=0) + head.bias
    np.testing.assert_allclose(mean, head.logits(states).mean(axis=0), atol=1e-5)


def without(folder, to, *parts, kind="safetensors"):
    """A copy of a model folder whose weights lack some tensors."""
    shutil.copytree(folder, to)
    weights = load_file(to / "model.safetensors")
    kept = {key: one for key, one in weights.items() if not any(part in key for part in parts)}
    assert len(kept) < len(weights) or not parts
    (to / "model.safetensors").unlink()
    if kind == "safetensors":
        save_file(kept, to / "model.safetensors", {"format": "pt"})
    else:
        torch.save(kept, to / "pytorch_model.bin")
    return to


@pytest.mark.parametrize("part", ["cls.predictions", "transform.dense", "predictions.bias"])
def test_no_random_head(saved, tmp_path, part):
    encoder = open_encoder(without(saved("bert"), tmp_path / "model", part))
    assert encoder.head() is None
    assert "is not in its files" in encoder.head_note and "random" in encoder.head_note


def test_an_untied_matrix_that_lacks(saved, tmp_path):
    encoder = open_encoder(without(saved("llama"), tmp_path / "model", "lm_head"))
    assert encoder.head() is None and "lm_head.weight" in encoder.head_note


def test_a_head_that_holds_no_numbers(saved, tmp_path):
    folder = shutil.copytree(saved("llama"), tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = torch.full_like(weights["lm_head.weight"], torch.nan)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    encoder = open_encoder(folder)
    assert encoder.head() is None and "its logits are not finite numbers" in encoder.head_note


def test_a_model_without_a_head(tiny_model):
    encoder = open_encoder(tiny_model)
    assert encoder.head() is None and encoder.head_note is None


def test_a_model_of_another_kind(saved, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(saved("bert"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForSequenceClassification"]}))
    encoder = open_encoder(folder)
    assert encoder.head() is None and encoder.head_note is None


def test_a_causal_head_whose_states_see_ahead(saved, tmp_path):
    """A BERT as a causal model, but its attention goes both ways: its states know the next token."""
    folder = tmp_path / "model"
    shutil.copytree(saved("bert"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertLMHeadModel"]}))
    encoder = open_encoder(folder)
    assert encoder.head() is None and "know the tokens" in encoder.head_note


def test_logits_that_are_bent(tmp_path):
    """Gemma 2 squeezes its logits behind the matrix."""
    torch.manual_seed(0)
    more = {"head_dim": 8, "num_key_value_heads": 2, "final_logit_softcapping": 0.1}
    config = transformers.Gemma2Config(vocab_size=len(WORDS) + 5, **SIZES, **more)
    transformers.Gemma2ForCausalLM(config).save_pretrained(tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    encoder = open_encoder(tmp_path / "model")
    assert encoder.head() is None and "not a matrix times" in encoder.head_note


def test_a_masked_model_without_a_mask(saved, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(saved("bert"), folder)
    bare = tokenizer()
    bare.mask_token = None
    bare.save_pretrained(folder)
    encoder = open_encoder(folder)
    assert encoder.head() is None and "no mask token" in encoder.head_note


def test_pickled_weights_only_when_allowed(saved, tmp_path):
    folder = without(saved("gpt2"), tmp_path / "model", kind="pickle")
    encoder = open_encoder(folder, Loading(allow_pickle=True))
    np.testing.assert_array_equal(encoder.head().matrix, open_encoder(saved("gpt2")).head().matrix)


def test_half_precision_is_read_as_whole(saved, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(saved("llama"), folder)
    weights = {key: one.half() for key, one in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    head = open_encoder(folder).head()
    assert head.matrix.dtype == np.float32
    np.testing.assert_array_equal(head.matrix, weights["lm_head.weight"].float().numpy())


def test_other_encoders_have_none(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\ndog 3 4\n")
    assert StaticEncoder(path).head() is None


def test_a_head_without_a_transform():
    head = Head(np.eye(3, dtype=np.float32), np.array([1.0, 0.0, 0.0], np.float32))
    assert head.logits(np.array([[1.0, 2.0, 3.0]], np.float32)).tolist() == [[2.0, 2.0, 3.0]]


@pytest.mark.parametrize("name", ["bert-tiny", "bert-mini"])
def test_real_models_without_a_head(real_data, name):
    encoder = open_encoder(real_data.parent / "models" / name)
    assert encoder.head() is None and encoder.head_note is None


def test_a_real_head(real_data):
    encoder = open_encoder(real_data.parent / "models" / "stories-15m")
    head = encoder.head()
    passage, states = states_of(encoder, "Once upon a time, there was a little")
    assert head.matrix.shape == (32000, 288) and head.tied and head.causal
    assert encoder.table_name(int(head.logits(states)[-1].argmax())) == "girl"
    assert passage.length > 8
