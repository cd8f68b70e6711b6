"""Neighbourhoods and word frequency of a static table: the input embeddings of a model, or a file of word vectors."""

from __future__ import annotations

import numpy as np

from uncone.analysis.frequency.frequency import frequency_of
from uncone.analysis.frequency.word_counts import Frequencies
from uncone.analysis.layers.deep_results import TableDeep
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.hubness import hubness_of
from uncone.analysis.number_format import count
from uncone.encoders.encoder import Encoder

__all__ = ["table_deep"]


def table_deep(encoder: Encoder, frequencies: Frequencies | None, seed: int = 0) -> TableDeep | None:
    """What lies in the table that an encoder looks its tokens up in; None when it has none, or only one row.

    The same measures as for a layer, so that static and contextual vectors can be compared: mind that the local
    dimension grows with the number of rows. Rows are tokens, so `frequencies` should be `token_frequencies`; with any
    other, a row is as frequent as the word that it is. Rows of zeros and rows that are no numbers are left out.
    """
    table = encoder.input_table()
    if table is None:
        return None
    names, vectors = table
    usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    bad = int((~usable).sum())
    if bad:
        places = np.flatnonzero(usable)
        names, vectors = [names[i] for i in places.tolist()], vectors[places]
    if len(names) < 2:
        return None
    notes = [encoder.table_note] if encoder.table_note else []
    if bad:
        notes.append(f"{count(bad, 'row')} of zeros or without numbers {'was' if bad == 1 else 'were'} left out.")
    name, unit = ("word vectors", "word") if encoder.layers == 1 else ("input embeddings", "token")
    frequency = None
    if frequencies is not None:
        frequency = frequency_of(vectors, names, frequencies, unit=unit, seed=seed)
    return TableDeep(
        name=name,
        n=len(names),
        dim=vectors.shape[1],
        dimensions=dimensions_of(vectors, seed=seed),
        hubness=hubness_of(vectors, seed=seed, name=lambda row: names[row]),
        frequency=frequency,
        note=" ".join(notes),
    )
