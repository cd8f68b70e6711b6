"""What logits are made of: against a double loop over every position, and a head that is made of frequency and PMI."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
import transformers
from scipy import stats
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedTokenizerFast
from transformers.utils import logging

from uncone.analysis.frequency.head import head_frequency
from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import ListTexts
from uncone.encoders.encoder import Encoder, Passage, States, Window
from uncone.encoders.head import Head
from uncone.encoders.open import open_encoder
from uncone.stats.hashing import hash_keys

SIZE = 40
WORDS = [f"w{i}" for i in range(SIZE)]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
MASK, SPECIAL = 4, 5


def chain(seed=0, spread=1.0):
    """The chances of a Markov chain over the words: p(x | y) = p(x) times a factor of the pair, made to sum to one."""
    rng = np.random.default_rng(seed)
    single = 1 / np.arange(1, SIZE + 1)
    joint = np.outer(single, single) * np.exp(spread * rng.normal(size=(SIZE, SIZE)))
    return joint / joint.sum(axis=1, keepdims=True)


def walks(chances, n=300, length=40, seed=1):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        at = [int(rng.integers(SIZE))]
        while len(at) < length:
            at.append(int(rng.choice(SIZE, p=chances[at[-1]])))
        found.append(" ".join(WORDS[i] for i in at))
    return found


TEXTS = walks(chain(), 60, 25)


def tokenizer():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    inner = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, mask_token="[MASK]", **names)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    logging.disable_progress_bar()
    torch.manual_seed(3)
    root = tmp_path_factory.mktemp("heads")
    most = {"vocab_size": SIZE + SPECIAL, "max_position_embeddings": 64, "initializer_range": 0.3}
    made = {
        "causal": transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, **most)),
        "masked": transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, **most)),
    }
    for name, model in made.items():
        model.save_pretrained(root / name)
        tokenizer().save_pretrained(root / name)
    return {name: root / name for name in made}


def correlated(mean, single, rest, pmi, least, pairs):
    tokens = sorted(single)
    total = sum(single.values())
    logs = [math.log(single[x] / total) for x in tokens]
    fit = stats.linregress(logs, [mean[x] for x in tokens])
    frequent = [pair for pair in rest if pairs[pair] >= least]
    ours, theirs = [rest[pair] for pair in frequent], [pmi[pair] for pair in frequent]
    found = {"r2": fit.rvalue**2, "slope": fit.slope, "tokens": len(tokens), "pairs": len(frequent)}
    found["pmi_r"], found["pmi_rho"] = stats.pearsonr(ours, theirs).statistic, stats.spearmanr(ours, theirs).statistic
    return found


def naive(folder, texts, causal, least, seed=0):
    """Every logit of every position of the whole model, added up in Python."""
    whole = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_pretrained(folder).eval()
    seen = tokenizer()
    pairs, firsts, seconds = Counter(), Counter(), Counter()
    by_context, everywhere = defaultdict(list), []
    # The texts are read in the order of their hashes, and masks follow the number of the token.
    order = np.argsort(hash_keys(np.arange(len(texts)), seed))
    before = 0
    for number in order.tolist():
        ids = seen(texts[number])["input_ids"]
        masked = [int(hash_keys(np.array([before + i]), seed)[0]) % 7 == 0 for i in range(len(ids))]
        masked[0] = masked[-1] = False
        before += len(ids)
        shown = ids if causal else [MASK if hidden else token for token, hidden in zip(ids, masked, strict=True)]
        with torch.no_grad():
            logits = whole(input_ids=torch.tensor([shown])).logits[0].double().numpy()
        for i in range(1, len(ids) - 2):
            y, x = ids[i], ids[i + 1]
            pairs[y, x] += 1
            firsts[y] += 1
            seconds[x] += 1
            if causal or (masked[i + 1] and not masked[i]):
                row = logits[i] if causal else logits[i + 1]
                by_context[y].append(row)
                everywhere.append(row)
    mean = np.mean(everywhere, axis=0)
    total = sum(pairs.values())
    rest, pmi = {}, {}
    for y, x in pairs:
        if y in by_context:
            above = np.mean(by_context[y], axis=0) - mean
            rest[y, x] = above[x] - np.mean([above[z] for z in seconds])
            pmi[y, x] = math.log(pairs[y, x] * total / (firsts[y] * seconds[x]))
    return correlated(mean, seconds, rest, pmi, least, pairs)


@pytest.mark.parametrize(("kind", "least"), [("causal", 5), ("causal", 2), ("masked", 3)])
def test_a_double_loop(folders, kind, least):
    encoder = open_encoder(folders[kind])
    found = head_frequency(encoder, Selection(ListTexts(TEXTS)), least=least)
    expected = naive(folders[kind], TEXTS, kind == "causal", least)
    assert expected["pairs"] > 30
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-4), name
    assert found.read == 60 * 25 and found.least == least
    assert found.low <= found.r2 <= found.high


def test_another_seed_masks_other_tokens(folders):
    encoder, texts = open_encoder(folders["masked"]), Selection(ListTexts(TEXTS))
    one, same, other = (head_frequency(encoder, texts, seed=seed) for seed in (0, 0, 4))
    assert one == same and other.r2 != one.r2 and other.read == one.read


def test_windows_lose_only_the_pairs_between_them(folders):
    encoder, texts = open_encoder(folders["causal"]), Selection(ListTexts(TEXTS))
    whole, cut = head_frequency(encoder, texts, least=1), head_frequency(encoder, texts, Window(12, 3), least=1)
    assert cut.read == whole.read == 1_500
    assert cut.pairs < whole.pairs


# A head that is made of frequency and PMI.


class OneHot(States):
    def __init__(self, tokens):
        self.rows = np.eye(SIZE, dtype=np.float32)[tokens]

    def pooled(self, layer, tokens, starts):
        return self.rows[tokens]

    def longest(self, layer, tokens, starts):
        raise AssertionError


class Made(Encoder):
    """Its state at a token is that token, so that its head can be any table of pairs."""

    name, kind, layers, dim, window = "made", "made", 1, SIZE, None

    def __init__(self, logits):
        self._head = Head(logits.T.astype(np.float32), np.zeros(SIZE, np.float32))

    def passages(self, texts, window):
        return [[self._passage(text)] for text in texts]

    def _passage(self, text):
        tokens = [int(word[1:]) for word in text.split()]
        places = np.arange(len(tokens))
        return Passage(text, tokens, places, places + 1, np.zeros(len(tokens), np.bool_))

    def encode(self, batch):
        return OneHot([token for passage in batch for token in passage.tokens])

    def fingerprint(self):
        return "made"

    def head(self):
        return self._head


def counted(texts):
    """log p(x) and PMI(y, x) of the texts themselves; zero for pairs that never stand together."""
    tokens = [[int(word[1:]) for word in text.split()] for text in texts]
    joint = np.zeros((SIZE, SIZE))
    for one in tokens:
        np.add.at(joint, (one[:-1], one[1:]), 1)
    y, x = joint.sum(axis=1), joint.sum(axis=0)
    with np.errstate(divide="ignore"):
        pmi = np.where(joint > 0, np.log(joint * joint.sum() / np.outer(y, x)), 0)
    return np.log(x / joint.sum()), pmi


@pytest.fixture(scope="module")
def long_texts():
    return walks(chain(spread=0.4))


def test_logits_of_frequency_and_pmi(long_texts):
    logs, pmi = counted(long_texts)
    found = head_frequency(Made(logs + pmi), Selection(ListTexts(long_texts)))
    assert found.r2 > 0.97 and found.low > 0.9 and found.slope == pytest.approx(1, abs=0.1)
    assert found.pmi_r > 0.95 and found.pmi_rho > 0.95 and found.pairs > 300 and found.tokens == SIZE
    assert "Log-frequency explains 9" in found.sentence and "the token before." in found.sentence


def test_a_constant_for_every_context_changes_nothing(long_texts):
    """Softmax does not see it."""
    logs, pmi = counted(long_texts)
    constant = 5 * np.random.default_rng(0).normal(size=(SIZE, 1))
    one, other = (
        head_frequency(Made(table), Selection(ListTexts(long_texts))) for table in (logs + pmi, logs + pmi + constant)
    )
    assert other.r2 == pytest.approx(one.r2, abs=1e-5) and other.pmi_r == pytest.approx(one.pmi_r, abs=1e-5)


def test_logits_of_frequency_alone(long_texts):
    logs, _ = counted(long_texts)
    noise = 0.1 * np.random.default_rng(9).normal(size=(SIZE, SIZE))
    found = head_frequency(Made(logs + noise), Selection(ListTexts(long_texts)))
    assert found.r2 > 0.98 and abs(found.pmi_r) < 0.2


def test_logits_of_pmi_alone(long_texts):
    _, pmi = counted(long_texts)
    noise = np.random.default_rng(9).normal(size=SIZE)
    found = head_frequency(Made(pmi + noise), Selection(ListTexts(long_texts)))
    assert found.r2 < 0.25 and found.pmi_r > 0.95


def test_a_part_of_the_texts(long_texts):
    logs, pmi = counted(long_texts)
    selection = Selection(ListTexts(long_texts))
    part, again, other = (head_frequency(Made(logs + pmi), selection, most=2_000, seed=seed) for seed in (0, 0, 1))
    assert part.read == 2_000 and part == again and part.r2 != other.r2
    assert head_frequency(Made(logs + pmi), selection).read == 300 * 40


# What cannot be known.


def test_no_head(tiny_model):
    assert head_frequency(open_encoder(tiny_model), Selection(ListTexts(TEXTS))) is None


@pytest.mark.parametrize("texts", [["w1"], ["w1", "w2", "w3"], ["w1 w2 w3", "w3 w2"]])
def test_too_few_tokens(texts):
    found = head_frequency(Made(np.eye(SIZE)), Selection(ListTexts(texts)))
    assert found.r2 is found.low is found.slope is found.pmi_r is None
    assert found.read == sum(len(text.split()) for text in texts) and "too few" in found.sentence


def test_all_tokens_are_as_frequent():
    texts = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(SIZE)]
    found = head_frequency(Made(np.random.default_rng(0).normal(size=(SIZE, SIZE))), Selection(ListTexts(texts)))
    assert found.tokens == SIZE and found.r2 is None and found.pmi_r is None
    assert "are all equal" in found.sentence and "too few" not in found.sentence


def test_all_logits_are_zero(long_texts):
    found = head_frequency(Made(np.zeros((SIZE, SIZE))), Selection(ListTexts(long_texts)))
    assert found.tokens == SIZE and found.r2 is None
    assert f"The mean logits of {SIZE} tokens, or their frequencies, are all equal" in found.sentence


def test_no_pair_stands_often(long_texts):
    logs, pmi = counted(long_texts)
    found = head_frequency(Made(logs + pmi), Selection(ListTexts(long_texts)), least=10_000)
    assert found.r2 > 0.9 and found.pmi_r is None and found.pairs == 0
    assert "Too few pairs occur 10000 times" in found.sentence


def test_states_that_are_no_numbers(long_texts):
    logs, pmi = counted(long_texts)
    encoder = Made(logs + pmi)

    def encode(batch):
        states = OneHot([token for passage in batch for token in passage.tokens])
        states.rows[states.rows[:, 3] == 1] = np.nan
        return states

    encoder.encode = encode
    found = head_frequency(encoder, Selection(ListTexts(long_texts)))
    assert math.isfinite(found.r2) and found.pmi_r > 0.9


def test_a_real_head(real_data):
    """A model of children's stories on an encyclopedia: less is frequency and PMI than on what it was made for."""
    encoder = open_encoder(real_data.parent / "models" / "stories-15m")
    with (real_data / "wikitext-2" / "valid.txt").open() as file:
        texts = [line for line in file if len(line) > 200][:60]
    found = head_frequency(encoder, Selection(ListTexts(texts)), most=4_000, least=3)
    assert found.tokens > 500 and 0.02 < found.r2 < 0.6 and found.slope > 0 and found.pmi_r is not None
