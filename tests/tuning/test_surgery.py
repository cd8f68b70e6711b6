"""Layers that are frozen, removed and re-initialized, in the layouts of BERT, GPT-2, Llama and T5."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from transformers import AutoModel, BertConfig, GPT2Config, LlamaConfig, T5Config, T5EncoderModel

from uncone.errors import OptionError
from uncone.tuning.surgery import (
    Surgery,
    blocks_of,
    embeddings_of,
    frozen_depth,
    layer_module,
    operate,
    parse_layers,
    planned_surgery,
)

SMALL = {"vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
CONFIGS = {
    "bert": BertConfig(num_hidden_layers=4, **SMALL),
    "llama": LlamaConfig(num_hidden_layers=4, num_key_value_heads=2, **SMALL),
    "gpt2": GPT2Config(vocab_size=50, n_embd=16, n_layer=4, n_head=2),
}
IDS = torch.tensor([[1, 2, 3, 4]])


@pytest.fixture(params=CONFIGS)
def model(request):
    torch.manual_seed(0)
    return AutoModel.from_config(deepcopy(CONFIGS[request.param])).eval()


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("", []),
        ("embeddings", [0]),
        ("embeddings,1-3", [0, 1, 2, 3]),
        ("all-but 4", [0, 1, 2, 3]),
        ("all-but 1,3", [0, 2, 4]),
        (("2", "4"), [2, 4]),
    ],
)
def test_layers_of_a_list(text, layers):
    assert sorted(parse_layers(text, 4, "--freeze")) == layers


@pytest.mark.parametrize("text", ["5", "1-9", "3-1", "x", "1-", "all-but", "-1"])
def test_what_is_no_layer_is_refused(text):
    with pytest.raises(OptionError, match=r"1 to 4|not a layer|no layer"):
        parse_layers(text, 4, "--freeze")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze": "embeddings,1-4"}, "nothing would be trained"),
        ({"freeze": "embeddings,1-3", "drop": "4"}, "nothing would be trained"),
        ({"drop": "1-4"}, "Leave at least one"),
        ({"drop": "embeddings"}, "only be frozen"),
        ({"reinit": "embeddings"}, "only be frozen"),
        ({"drop": "2", "reinit": "2"}, "both dropped and re-initialized"),
        ({"drop": "2", "freeze": "1-2"}, "both dropped and frozen"),
    ],
)
def test_surgery_that_makes_no_sense_is_refused(model, options, message):
    with pytest.raises(OptionError, match=message):
        planned_surgery(model, **options)


def test_frozen_layers_have_no_gradient_and_the_others_do(model):
    operate(model, planned_surgery(model, freeze="embeddings,2"))
    trained = [
        all(p.requires_grad for part in layer_module(model, layer) for p in part.parameters()) for layer in range(5)
    ]
    assert trained == [False, True, False, True, True]
    assert not any(p.requires_grad for part in layer_module(model, 2) for p in part.parameters())


def test_a_dropped_layer_is_gone_and_the_rest_computes_what_it_would(model, tmp_path):
    blocks = list(blocks_of(model))
    operate(model, Surgery(drop=frozenset({2})))
    assert list(blocks_of(model)) == [blocks[0], blocks[2], blocks[3]]
    output = model(input_ids=IDS).last_hidden_state
    model.save_pretrained(tmp_path)
    again = AutoModel.from_pretrained(tmp_path).eval()
    assert len(blocks_of(again)) == 3
    torch.testing.assert_close(again(input_ids=IDS).last_hidden_state, output)


def test_a_re_initialized_layer_is_new_and_depends_on_the_seed_alone(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    second = {id(p) for p in blocks_of(model)[1].parameters()}
    names = {name for name, p in model.named_parameters() if id(p) in second and p.dim() == 2}
    torch.manual_seed(99)
    operate(model, Surgery(reinit=frozenset({2})), seed=5)
    first_draw = {name: model.state_dict()[name].clone() for name in names}
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) != (name in names) or value.dim() < 2
    operate(model, Surgery(reinit=frozenset({2})), seed=5)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in first_draw.items())


def test_the_frozen_prefix(model):
    assert frozen_depth(model, Surgery()) == 0
    assert frozen_depth(model, Surgery(freeze=frozenset({1, 2}))) == 0
    assert frozen_depth(model, Surgery(freeze=frozenset({0, 1, 3}))) == 2
    surgery = Surgery(freeze=frozenset({0, 1, 3}), drop=frozenset({2}))
    operate(model, surgery)
    assert frozen_depth(model, surgery) == 3


def test_stacks_inside_stacks():
    model = T5EncoderModel(T5Config(vocab_size=50, num_layers=2, d_model=16, d_kv=8, num_heads=2, d_ff=16))
    assert len(blocks_of(model)) == 2
    assert all(isinstance(part, torch.nn.Embedding) for part in embeddings_of(model))
