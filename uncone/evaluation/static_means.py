"""The mean of static vectors, which a model that reads context should beat."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.texts.texts import ListTexts
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.open import Loading, open_encoder
from uncone.encoders.pooling import Pooling
from uncone.encoders.static import StaticEncoder
from uncone.encoders.text_vectors import EncodedTexts
from uncone.errors import ModelError
from uncone.evaluation.spaces import pooled_runs

__all__ = ["static_means"]


def static_means(
    model: str | os.PathLike[str] | Encoder,
    texts: Sequence[str],
    file: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
) -> Matrix:
    """The mean over the tokens of each text of static vectors; NaN where there are none.

    They are the model's own input embeddings, without special tokens; or the word vectors of `file`.

    Raises:
        ModelError: the model has no table of input embeddings.
    """
    encoder = open_encoder(model, loading) if file is None else StaticEncoder(Path(file))
    if isinstance(encoder, StaticEncoder):
        source = EncodedTexts(ListTexts(texts), encoder, Pooling((0,)))
        source.least = 1
        return np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
    own = getattr(getattr(encoder, "model", None), "get_input_embeddings", None)
    if own is None:
        raise ModelError(f"{encoder.name} has no table of input embeddings. Give a file of word vectors.")
    table: Matrix = own().weight.detach().float().cpu().numpy()
    ids = [
        np.array(passages[0].tokens, np.int64)[~passages[0].special]
        for passages in encoder.passages([text.strip() for text in texts], Window(cut=True))
    ]
    sizes = np.array([len(tokens) for tokens in ids], np.int64)
    means: Matrix = np.full((len(texts), table.shape[1]), np.nan, np.float32)
    if sizes.any():
        means[sizes > 0] = pooled_runs(np.concatenate(ids), sizes[sizes > 0], "mean", table)
    return means
