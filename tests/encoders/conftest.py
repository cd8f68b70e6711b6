"""Tiny random models with tokenizers of every family, as folders; and the naive route from stored hidden states."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
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


@pytest.fixture
def one_thread():
    """Tiny models are quicker on one core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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


@pytest.fixture
def changed(folder_of, tmp_path):
    """A copy of a model folder, with changes to its config."""

    def copy(family, **config):
        shutil.copytree(folder_of(family), tmp_path / family)
        path = tmp_path / family / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
        return tmp_path / family

    return copy


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
def forward(loaded):
    """The states of one row of token ids, without any batch: (layers, tokens, d)."""

    def run(family, ids):
        _, model = loaded(family)
        with torch.no_grad():
            found = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
        return np.stack([layer[0].double().numpy() for layer in found])

    return run


@pytest.fixture(scope="session")
def hidden(loaded, forward):
    """The tokens of one text and their states: ids, names, offsets, special, (layers, tokens, d)."""
    kept = {}

    def get(family, text):
        if (family, text) not in kept:
            tokenizer, _ = loaded(family)
            made = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, truncation=False)
            ids = made["input_ids"]
            kept[family, text] = SimpleNamespace(
                ids=ids,
                names=tokenizer.convert_ids_to_tokens(ids),
                offsets=made["offset_mapping"],
                special=[bool(one) for one in made["special_tokens_mask"]],
                states=forward(family, ids) if ids else None,
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
    model = _model(family, tokenizer)
    model.save_pretrained(folder)
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
    """By hand: what the trainer makes differs from run to run."""
    bert = normalizers.BertNormalizer(lowercase=True)
    split = pre_tokenizers.BertPreTokenizer()
    pieces = [piece for text in TRAINING for piece, _ in split.pre_tokenize_str(bert.normalize_str(text))]
    letters = sorted({letter for piece in pieces for letter in piece})
    frequent = sorted(piece for piece, count in Counter(pieces).items() if count > 3 and len(piece) > 1)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *frequent]
    vocabulary += [f"##{piece}" for piece in ("s", *letters, "ing", "ed", "er", "ly", "ar") if piece.isalnum()]
    numbers = {piece: i for i, piece in enumerate(dict.fromkeys(vocabulary))}
    made = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = bert, split
    made.add_special_tokens(vocabulary[:5])
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
    # The trainer's order and last digits differ from run to run.
    scores = json.loads(made.to_str())["model"]["vocab"][len(special) :]
    scores = [(name, 0.0) for name in special] + sorted((name, round(score, 6)) for name, score in scores)
    made.model = models.Unigram(scores, unk_id=2)
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


_SHAPE = {"hidden_size": SIZE, "num_attention_heads": 4, "intermediate_size": 48}
_GPT2 = {"n_embd": SIZE, "n_layer": 2, "n_head": 4, "n_positions": 128, "initializer_range": 0.2}
_GPT2_IDS = {"bos_token_id": "eos", "eos_token_id": "eos"}
_MODELS = {
    "bert": (
        "Bert",
        {**_SHAPE, "num_hidden_layers": 3, "max_position_embeddings": 128, "initializer_range": 0.3},
        {"pad_token_id": "pad"},
    ),
    "roberta": (
        "Roberta",
        {**_SHAPE, "num_hidden_layers": 2, "max_position_embeddings": 130, "initializer_range": 0.3},
        {"pad_token_id": "pad", "bos_token_id": "bos", "eos_token_id": "eos"},
    ),
    "gpt2": ("GPT2", _GPT2, _GPT2_IDS),
    "forgetful": ("GPT2", _GPT2, _GPT2_IDS),
    "t5": (
        "T5",
        {"d_model": SIZE, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4, "relative_attention_num_buckets": 8},
        {"pad_token_id": "pad", "eos_token_id": "eos", "decoder_start_token_id": "pad"},
    ),
    "llama": (
        "Llama",
        {
            **_SHAPE,
            **{"num_hidden_layers": 3, "num_key_value_heads": 2},
            **{"max_position_embeddings": 256, "initializer_range": 0.2},
        },
        {"bos_token_id": "bos", "eos_token_id": "eos"},
    ),
    "distilbert": (
        "DistilBert",
        {
            **{"dim": SIZE, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
            **{"max_position_embeddings": 128, "initializer_range": 0.3},
        },
        {"pad_token_id": "pad"},
    ),
}
"""Of every kind: the class of transformers, its shape, and which special tokens of the tokenizer it is told."""


def _model(kind, tokenizer):
    name, shape, ids = _MODELS[kind]
    given = {key: getattr(tokenizer, f"{token}_token_id") for key, token in ids.items()}
    config = getattr(transformers, f"{name}Config")(vocab_size=len(tokenizer), **shape, **given)
    return getattr(transformers, f"{name}Model")(config)


# The measures, from the rows of a layer: pairs of rows one by one, as a matrix of all of them.


def _measured(rows, groups, words=None, *, least=5, texts=None):
    """Every measure of a layer from its rows (n, d), the sentence of each and, where there are any, the words.

    `texts` are the sentences themselves, where some are identical.
    """
    x = np.asarray(rows, np.float64)
    groups = np.asarray(groups)
    d = x.shape[1]
    norms = np.sqrt((x**2).sum(axis=1))
    u = x / norms[:, None]
    cosines = u @ u.T
    apart = groups[:, None] != groups[None, :]
    found = {"baseline": cosines[apart].mean(), "norm_mean": norms.mean()}
    found["mean_over_rms"] = np.linalg.norm(x.mean(axis=0)) / np.sqrt((norms**2).mean())
    each = np.sort([u[:, j] @ apart @ u[:, j] for j in range(d)])[::-1] / apart.sum()
    for k in (1, 3, 5):
        found[f"rogue_share_{k}"] = each[:k].sum() / each.sum() if each.sum() >= 0.05 else None
    found |= _spectrum(x, texts) | _partition(x, norms.mean())
    if words is None:
        return found, {}, {}
    sentences = _sentences(x, groups)
    found["intrasim"] = np.mean(list(sentences.values()))
    found["intrasim_adjusted"] = found["intrasim"] - found["baseline"]
    table = _words(x, cosines, groups, words, texts)
    enough = [one for one in table.values() if one.contexts >= least]
    found["selfsim"] = np.mean([one.selfsim for one in enough])
    found["selfsim_adjusted"] = found["selfsim"] - found["baseline"]
    found["mev"] = np.mean([one.mev for one in enough])
    found["s_intra"] = np.mean([one.selfsim for one in table.values() if one.contexts > 1])
    member = np.array([[name == other for other in words] for name in table], float)
    member /= member.sum(axis=1, keepdims=True)
    between = member @ cosines @ member.T
    found["s_inter"] = between[~np.eye(len(table), dtype=bool)].mean()
    return found, table, sentences


def _words(x, cosines, groups, words, texts=None):
    table = {}
    unit = {group: group if texts is None else texts[group] for group in set(groups.tolist())}
    inside = [i - groups.tolist().index(group) for i, group in enumerate(groups.tolist())]
    for name in dict.fromkeys(words):
        mine = [i for i, word in enumerate(words) if word == name]
        pairs = [cosines[i, j] for i in mine for j in mine if groups[i] != groups[j]]
        strengths = np.linalg.svd(x[mine], compute_uv=False) ** 2
        table[name] = SimpleNamespace(
            count=len(mine),
            contexts=len({unit[groups[i]] for i in mine}),
            distinct=len({(unit[groups[i]], inside[i]) for i in mine}),
            selfsim=np.mean(pairs) if pairs else None,
            mev=strengths[0] / strengths.sum(),
        )
    return table


def _sentences(x, groups):
    found = {}
    for group in dict.fromkeys(groups.tolist()):
        mine = x[groups == group]
        if len(mine) < 2:
            continue
        mean = mine.mean(axis=0)
        found[group] = np.mean([one @ mean / np.linalg.norm(one) / np.linalg.norm(mean) for one in mine])
    return found


def _spectrum(x, texts=None):
    """IsoScore is corrected for the rows of distinct texts: as if each stood there once."""
    d, n = x.shape[1], len(x) * (1 if texts is None else len(set(texts)) / len(texts))
    covariance = np.cov(x.T, bias=True) * n / (n - 1)
    values = np.sort(np.linalg.eigvalsh(covariance))[::-1].clip(min=0)
    shares = values / values.sum()
    positive = shares[shares > 1e-15]
    trace, squares = np.trace(covariance), (covariance**2).sum()
    ratio = trace**2 / squares
    fourth = (((x - x.mean(axis=0)) ** 2).sum(axis=1) ** 2).mean() * n / (n - 1)
    below = (n - 1) * (n - 2) * squares + trace**2 - n * fourth
    above = 2 * squares + (n**2 - 3 * n + 1) * trace**2 - n * fourth
    biased, ball = np.cov(x.T, bias=True), np.eye(d) * np.var(x, axis=0).mean()
    error = ((((x - x.mean(axis=0)) ** 2).sum(axis=1) ** 2).mean() - (biased**2).sum()) / n
    zeta = np.clip(error / ((biased - ball) ** 2).sum(), 0, 1)
    shrunk = (1 - zeta) * biased + zeta * ball
    return {
        "participation_ratio": ratio,
        "effective_rank": np.exp(-(positive * np.log(positive)).sum()),
        "top1_share": shares[0],
        "top10_share": shares[:10].sum(),
        "isoscore": (ratio - 1) / (d - 1),
        "isoscore_corrected": float(np.clip((above / below - 1) / (d - 1), 0, 1)),
        "isoscore_star": (np.trace(shrunk) ** 2 / (shrunk**2).sum() - 1) / (d - 1),
    }


def _partition(x, mean_norm):
    _, directions = np.linalg.eigh(x.T @ x)
    both = np.concatenate([directions, -directions], axis=1)
    found = {}
    for name, rows in (("partition_isotropy_log10", x), ("partition_isotropy_unit_log10", x / mean_norm)):
        logs = np.logaddexp.reduce(rows @ both, axis=0)
        found[name] = (logs.min() - logs.max()) / np.log(10)
    return found
