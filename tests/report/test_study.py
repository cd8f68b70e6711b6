"""A study of layers in all its renderings: each draws what is there, and none is broken by what is not."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from uncone.diagnosis.catalogue import CATALOGUE, CONTEXT
from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.layer import Layer, SentenceTable, WordTable
from uncone.diagnosis.published import published_curves
from uncone.errors import OptionError, OutputError
from uncone.report import write
from uncone.report.figures import write_figures
from uncone.report.study import LayerComparison, LayerStudy
from uncone.report.study_charts import charts
from uncone.report.study_lines import extremes, short_names
from uncone.report.study_terminal import print_study
from uncone.report.tables import sentence_table, table_format, word_table

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` $\\frac \x1b[31m"
CONTEXTUAL = [name for name in CONTEXT if name not in ("baseline", "sinks")]
WORDS = "the of and to a in is was he for it with as his on be at by i this bank river light play run set".split()


def found(name, value, n=12_345, width=0.01, **more):
    low, high = (None, None) if value is None or isinstance(value, list) else (value - width, value + width)
    return Finding(name, value, n, f"What {name} means here.", low=low, high=high, **more)


def curves(depth, seed):
    """Measures of a model like BERT: it crowds towards the end, and words grow contextual."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, depth)
    baseline = np.clip(0.1 + 0.55 * t**1.3 - 0.2 * (t == 1) + 0.02 * rng.normal(size=depth), 0.02, 0.98)
    selfsim = np.clip(0.95 - 0.25 * t + 0.15 * np.maximum(t - 0.7, 0), baseline, 1)
    matched = np.sqrt((1 + 9 * baseline) / 10)
    intrasim = np.clip(matched + 0.08 * t, 0, 1)
    mev, mev_matched = 0.97 - 0.2 * t, 0.2 + 0.6 * baseline
    iso = 0.3 * (1 - t) ** 2 + 0.02
    return {
        "baseline": baseline,
        "selfsim": selfsim,
        "selfsim_adjusted": selfsim - baseline,
        "intrasim": intrasim,
        "intrasim_adjusted": intrasim - baseline,
        "intrasim_matched": matched,
        "intrasim_adjusted_matched": intrasim - matched,
        "mev": mev,
        "mev_matched": mev_matched,
        "mev_adjusted": mev - mev_matched,
        "s_intra": selfsim - 0.02,
        "s_inter": baseline - 0.01,
        "mean_over_rms": np.sqrt(baseline),
        "rogue_share_1": 0.1 + 0.4 * t,
        "rogue_share_3": 0.2 + 0.5 * t,
        "rogue_share_5": 0.25 + 0.6 * t,
        "effective_rank": 400 - 300 * t,
        "participation_ratio": 200 - 180 * t,
        "top1_share": 0.1 + 0.3 * t,
        "top10_share": 0.3 + 0.4 * t,
        "isoscore": iso * 0.9,
        "isoscore_corrected": iso,
        "partition_isotropy_log10": -20 * t - 1,
        "partition_isotropy_unit_log10": -3 * t - 0.3,
        "norm_mean": 1.2 + 14 * t,
    }


def study(
    depth=13, model="models/bert-base-cased", corpus="data/sts.txt", row="words", seed=0, named=WORDS, asked=(), sunk=()
):
    """A made-up study with every measure, or, for rows without words, with those a plain matrix has."""
    numbers = curves(depth, seed)
    context = row in ("words", "tokens")
    layers = []
    for place in range(depth):
        findings = {
            name: found(name, float(values[place]), width=0.02 * abs(float(values[place])) + 0.001)
            for name, values in numbers.items()
            if context or name not in CONTEXTUAL
        }
        if findings["baseline"].value < 0.12:
            findings |= {name: found(name, None) for name in findings if name.startswith("rogue_share")}
        findings["rogue_dimensions"] = found("rogue_dimensions", [308, 381, 92, 588, 7, 11][: place // 2])
        rows = [{"row": 7, "text": "the first word of a text", "value": 512.5}] if place in sunk else []
        findings["sinks"] = found("sinks", 3 if place in sunk else 0, rows=rows)
        layers.append(Layer(place, findings))
    n, rng = len(named), np.random.default_rng(seed)
    drift = rng.uniform(0.2, 1.4, size=(n, 1))
    words = WordTable(
        words=list(named),
        counts=np.arange(n, 0, -1) * 40,
        contexts=np.arange(n, 0, -1) * 30,
        selfsim=np.clip(1 - drift * (1 - numbers["selfsim"]), 0, 1),
        mev=np.where(np.arange(n)[:, None] % 2 == 0, 1 - drift * (1 - numbers["mev"]), np.nan),
        mev_n=np.where(np.arange(n) % 2 == 0, 50, 0),
        asked=asked,
    )
    texts = ['a "quoted" text, with a comma', "a text\nof two lines", EVIL]
    sentences = SentenceTable(
        np.array([0, 4, 9]), texts, np.array([6, 5, 8]), np.full((3, depth), 0.5), np.full((3, depth), 0.4)
    )
    story = [
        "Random words grow alike with depth: from 0.10 at the embeddings to 0.68 in layer 11.",
        "A word keeps 0.28 above random words in the last layer, so its context matters a good deal.",
        "The words of a sentence are 0.08 more alike than unrelated words of the same lengths.",
        "Three dimensions carry 70 % of the mean cosine in the last layer.",
    ]
    name, kind = model.rsplit("/", 1)[-1], "transformers"
    return LayerStudy(
        source={
            "model": model,
            "model_kind": kind,
            "corpus": corpus,
            "layers": depth,
            "dimensions": 768,
            "texts": 1_000,
            "rows": 12_345,
            "row": row,
        },
        layers=layers,
        words=words if context else None,
        sentences=sentences if context else None,
        story=story,
        notes=["12 texts were cut at 512 tokens.", "31 duplicate texts were left out."],
        provenance={"uncone": "0.2.0", "seed": 0, "device": "cpu", "command": "uncone layers bert --corpus sts.txt"},
        published=published_curves(name, depth) if context else (),
    )


def static():
    """Word vectors from a table: one layer, every word the same everywhere."""
    one = study(1, model="glove.txt")
    exact = {"selfsim": 1.0, "mev": 1.0, "s_intra": 1.0}
    findings = one.layers[0].findings | {name: found(name, value, width=0.0) for name, value in exact.items()}
    words = one.words.__class__(**{**one.words.__dict__, "selfsim": np.ones((len(WORDS), 1))})
    story = ["Random words score 0.10.", "There is one layer: the vectors do not know their context."]
    return LayerStudy(**{**one.__dict__, "layers": [Layer(0, findings)], "words": words, "story": story})


def contrast(of, to):
    """Differences of two studies, layers paired by depth, as the maker of studies pairs them."""
    a, b = len(to.layers), len(of.layers)
    longest = max(a, b)
    at = np.linspace(0, 1, longest)
    pairs = [(int(round(x * (a - 1))), int(round(x * (b - 1)))) for x in at]
    names = ("baseline", "selfsim", "selfsim_adjusted", "intrasim_adjusted_matched", "mev_adjusted")
    findings = [
        {
            name: found(name, of[j].value(name) - to[i].value(name), width=0.03)
            for name in names
            if name in of[j].findings and name in to[i].findings
        }
        for i, j in pairs
    ]
    return Contrast(of.name, to.name, pairs, findings)


def comparison(*studies):
    return LayerComparison(studies, [contrast(one, studies[0]) for one in studies[1:]])
