"""Tiny random models with tokenizers of every family, as folders; and the naive route from stored hidden states."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

SENTENCES = [
    "The bank of the river was steep and green.",
    "She went to the bank to open an account.",
    "A bank holds money, and the river holds water.",
    "He sat on the bank and looked at the river.",
    "Money in the bank is safe, said the man.",
    "The man said nothing.",
    "The dog saw the man and the man saw the dog.",
    "A dog is a dog is a dog.",
    "Light rain fell on the light roof of the house.",
    "The light was green, so she went on.",
    "It was light outside when he left the house.",
    "They play in the play, and the dog can play too.",
    "Children play near the river on green grass.",
    "The play was long; the man left.",
    "In 1999 the bank had 3,000 accounts.",
    "In 2001 it had 12.5 million!",
    "Why? Because the water was cold...",
    "Water runs; the dog runs; children run.",
    "It's the man's dog, isn't it?",
    "It's late, and the light is low.",
    "Run to the house!",
    "Green.",
    "Stop!",
    "The end.",
    "Nothing is safe near the water, she said.",
    "She said: the house by the river is cold.",
    "He said she said they said nothing at all.",
    "An open account is an open door.",
    "The door of the house was open.",
    "Open the door, please, and look at the light.",
    "Look: a green door!",
    "A cold man looked at a cold dog.",
    "The children looked at the steep roof.",
    "Roof and rain, rain and roof.",
    "The rain fell and the river rose and the water rose.",
    "A rose is a rose is a rose.",
    "Long ago the river was wide.",
    "Wide open: the bank, the door, the river.",
    "We left at 7:30 and came back at 9.",
    "They came back to the house late.",
    "Back and forth went the dog.",
    "Unbelievably, the uncharacteristically quiet children were outside.",
    "Quiet! said the man.",
    "The quiet river holds cold water.",
    "Please look at the account: 3,000 in 1999, nothing in 2001.",
    "Set the set on the table and set the table.",
    "The table was set.",
    "A set of three is a set.",
    "Three men, three dogs, one river.",
    "One man and one dog left.",
    "The one by the door is late.",
    "So it is, so it was.",
    "So she left the bank, the house and the river, and the man was left with nothing but a dog and the light.",
    "bank BANK Bank bank",
    "THE MAN SAID STOP.",
    "the the the the",
    "Steep roofs, steep banks; wide rivers, wide doors.",
    "Zebra!",
    "She saw it, he saw it, they saw it.",
    "And then? Nothing.",
]
"""Words in several contexts, twice in one sentence, and only once; sentences of one word and of many."""

TRAINING = [
    *SENTENCES,
    "Café naïve résumé Straße garçon, ça va? Über allen Gipfeln ist Ruh.",
    "http://example.org/path?x=1 and www.example.com, mail me@example.org 3.14 1,000,000 1st 2nd.",
    "don't can't won't it's we're they'll I'd rock'n'roll",
    "中文 日本語 漢字 हिन्दी नमस्ते ไทย สวัสดี العربية مرحبا",
]
FAMILIES = ("bert", "gpt2", "roberta", "t5", "llama", "distilbert")
SIZE = 32


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sentences():
    return list(SENTENCES)


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory):
    """A maker of model folders: each is made when it is first asked for."""
    made = {}

    def get(family):
        if family not in made:
            folder = tmp_path_factory.mktemp("models") / family
            _write(folder, family)
            made[family] = folder
        return made[family]

    return get


@pytest.fixture(scope="session", params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="session")
def folder(folder_of, family):
    return folder_of(family)


@pytest.fixture(scope="session")
def loaded(folder_of):
    """The tokenizer and the model of a family, straight from transformers."""
    made = {}

    def get(family):
        if family not in made:
            _quiet()
            root = folder_of(family)
            model = AutoModel.from_pretrained(root, dtype=torch.float32).eval()
            tokenizer = AutoTokenizer.from_pretrained(root)
            made[family] = tokenizer, model.get_encoder() if model.config.is_encoder_decoder else model
        return made[family]

    return get


@pytest.fixture(scope="session")
def hidden(loaded):
    """The tokens of one text and their states, without any batch: offsets, special, (layers, tokens, d)."""
    kept = {}

    def get(family, text):
        if (family, text) not in kept:
            tokenizer, model = loaded(family)
            made = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, truncation=False)
            ids = made["input_ids"]
            with torch.no_grad():
                found = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
            kept[family, text] = SimpleNamespace(
                ids=ids,
                names=tokenizer.convert_ids_to_tokens(ids),
                offsets=made["offset_mapping"],
                special=[bool(one) for one in made["special_tokens_mask"]],
                states=np.stack([layer[0].double().numpy() for layer in found]),
            )
        return kept[family, text]

    return get


@pytest.fixture(scope="session")
def measured():
    """The measures of one layer by loops, from its rows in the order of the texts."""
    return _measured


def _write(folder, family):
    _quiet()
    tokenizer = _TOKENIZERS[family]()
    torch.manual_seed(sum(map(ord, family)))
    model = _MODELS[family](tokenizer)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)


def _quiet():
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)


# Tokenizers.


def _trained(tokenizer, trainer, texts=TRAINING):
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _wordpiece():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    _trained(made, trainers.WordPieceTrainer(vocab_size=220, special_tokens=special, show_progress=False))
    ends = [(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    made.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _byte_level(special, alphabet=None, trim=False, texts=TRAINING):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=trim)
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet is None else alphabet
    trainer = trainers.BpeTrainer(
        vocab_size=360, special_tokens=special, initial_alphabet=sorted(letters), show_progress=False
    )
    return _trained(made, trainer, texts)


def _gpt2():
    return PreTrainedTokenizerFast(tokenizer_object=_byte_level(["<|endoftext|>"]), eos_token="<|endoftext|>")


def _roberta():
    made = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    made.post_processor = processors.RobertaProcessing(
        ("</s>", made.token_to_id("</s>")), ("<s>", made.token_to_id("<s>")), trim_offsets=True, add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def _unigram():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False, shrinking_factor=0.7
    )
    _trained(made, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", made.token_to_id("</s>"))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def _byte_fallback():
    """As Llama's own: no pre-tokenizer, the spaces become marks in the normalizer, a mark is put in front."""
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    english = [text for text in TRAINING if text.isascii()]
    _trained(made, trainers.BpeTrainer(vocab_size=560, special_tokens=special, show_progress=False), english)
    # Bytes are ordinary tokens: written out in a text, <0x41> is six letters.
    state = made.to_str()
    made = Tokenizer.from_str(_without_bytes(state))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = None
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def _without_bytes(state):
    import json

    read = json.loads(state)
    read["added_tokens"] = [one for one in read["added_tokens"] if not one["content"].startswith("<0x")]
    return json.dumps(read)


def _forgetful():
    """A byte-level tokenizer that knows only the letters of English: whatever else there is, it drops."""
    letters = {chr(i) for i in range(33, 127)} | {"Ġ"}
    texts = [text for text in SENTENCES if text.isascii()]
    return PreTrainedTokenizerFast(
        tokenizer_object=_byte_level(["<|endoftext|>"], letters, texts=texts), eos_token="<|endoftext|>"
    )


_TOKENIZERS = {
    "bert": _wordpiece,
    "distilbert": _wordpiece,
    "gpt2": _gpt2,
    "roberta": _roberta,
    "t5": _unigram,
    "llama": _byte_fallback,
    "forgetful": _forgetful,
}


# Models: large random weights, so that words differ and contexts matter.


def _bert(tokenizer, **more):
    shape = {"hidden_size": SIZE, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    return transformers.BertModel(
        transformers.BertConfig(
            vocab_size=len(tokenizer),
            max_position_embeddings=128,
            initializer_range=0.3,
            pad_token_id=tokenizer.pad_token_id,
            **shape,
            **more,
        )
    )


def _roberta_model(tokenizer):
    return transformers.RobertaModel(
        transformers.RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=SIZE,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=48,
            max_position_embeddings=130,
            initializer_range=0.3,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def _gpt2_model(tokenizer):
    end = tokenizer.eos_token_id
    return transformers.GPT2Model(
        transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=SIZE,
            n_layer=2,
            n_head=4,
            n_positions=128,
            initializer_range=0.2,
            bos_token_id=end,
            eos_token_id=end,
        )
    )


def _t5_model(tokenizer):
    return transformers.T5Model(
        transformers.T5Config(
            vocab_size=len(tokenizer),
            d_model=SIZE,
            d_kv=8,
            d_ff=48,
            num_layers=3,
            num_heads=4,
            relative_attention_num_buckets=8,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )


def _llama_model(tokenizer):
    return transformers.LlamaModel(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=SIZE,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=48,
            max_position_embeddings=256,
            initializer_range=0.2,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def _distilbert_model(tokenizer):
    return transformers.DistilBertModel(
        transformers.DistilBertConfig(
            vocab_size=len(tokenizer),
            dim=SIZE,
            n_layers=2,
            n_heads=4,
            hidden_dim=48,
            max_position_embeddings=128,
            initializer_range=0.3,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


_MODELS = {
    "bert": _bert,
    "roberta": _roberta_model,
    "gpt2": _gpt2_model,
    "t5": _t5_model,
    "llama": _llama_model,
    "distilbert": _distilbert_model,
    "forgetful": _gpt2_model,
}


def _measured(x):
    raise NotImplementedError
