"""Small random BERTs with a tokenizer of their own, and sentences that they know."""

from __future__ import annotations

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

LONGEST = 32
SUBJECTS = ["the cat", "a dog", "my sister", "the old man", "our teacher", "a small bird", "the river", "this city"]
VERBS = ["sees", "likes", "follows", "paints", "forgets", "remembers", "crosses", "hears"]
OBJECTS = [
    "the house",
    "a red car",
    "the green hill",
    "an apple",
    "the quiet street",
    "some music",
    "the bridge",
    "a long story",
]
ENDS = ["today", "at night", "in the morning", "with joy", "before school", "after work", "again", "slowly"]


def sentences(n=150, seed=0):
    rng = np.random.default_rng(seed)
    parts = (SUBJECTS, VERBS, OBJECTS, ENDS)
    return [" ".join([*(rng.choice(part) for part in parts), str(rng.integers(1000))]) + "." for _ in range(n)]


def tokenizer():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    made.train_from_iterator(
        sentences(400), trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=LONGEST, **names)


def bert(folder, layers=2, seed=0):
    torch.manual_seed(seed)
    words = tokenizer()
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LONGEST,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
