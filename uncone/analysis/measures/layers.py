"""What `layers` measures of every layer: words in context, and a part of what `check` measures."""

from __future__ import annotations

from uncone.analysis.advice.topic import diverse_of_layer
from uncone.analysis.context.context import baseline_of, intra_sentence, self_similarity, type_similarity
from uncone.analysis.context.mev import mev_findings
from uncone.analysis.cosine.rogue import rogue
from uncone.analysis.measures.check import CAI, DIVERSE, ETHAYARAJH, MEAN, NORM_MEAN, PARTITION, ROGUE, SPECTRUM
from uncone.analysis.measures.measure import Curve, Family, Measure
from uncone.analysis.measures.unit import COSINE, COUNT, SCORE
from uncone.analysis.space.health import norms, sinks
from uncone.analysis.space.spectrum.spectrum import mean_over_rms, partition, spectrum

__all__ = ["FAMILIES"]

# A table: one argument per line would make it three times as long.
# fmt: off
BASELINE = Measure("baseline", "Random words", COSINE,
    "(|ΣU|² − Σ|U_s|²)/(n² − Σn_s²), U_s the sum of u = x/|x| over sentence s: the exact mean cosine over all pairs "
    "from different sentences.", ETHAYARAJH, "layers dots sizes contrast", heading=("baseline", ""),
    curve=Curve("How similar random {row}s are", "mean cosine, baseline",
    "Mean cosine of two unrelated {row}s. The higher it is, the less a score means."),
    difference="Random {row}s")
SELFSIM = (
    Measure("selfsim", "Self-similarity", COSINE,
        "Mean cosine of a word's occurrences in different sentences; plain mean over the words with enough sentences.",
        ETHAYARAJH, "dots sizes contrast", difference="Self-similarity, raw"),
    Measure("selfsim_adjusted", "Self-similarity, adjusted", COSINE, "The same minus the baseline of the layer.",
        ETHAYARAJH, "layers dots sizes contrast", heading=("selfsim", "adjusted"),
        curve=Curve("A word across contexts: self-similarity", "SelfSim − baseline",
        "Mean cosine of a word with itself in other texts, minus the baseline. The lower, the more contextual.",
        zero=True), difference="Self-similarity, adjusted"),
)
INTRASIM = (
    Measure("intrasim", "Intra-sentence similarity", COSINE,
        "Mean cosine of the words of a sentence with their mean vector; mean over sentences of two words or more.",
        ETHAYARAJH, "dots sizes contrast"),
    Measure("intrasim_adjusted", "Intra-sentence similarity, minus baseline", COSINE,
        "The same minus the baseline, as published. Unrelated words do not come out at zero.", ETHAYARAJH, "contrast"),
    Measure("intrasim_matched", "Intra-sentence similarity of unrelated words", COSINE,
        "The same for sentences of the same lengths, of random words.", shown_in="dots sizes"),
    Measure("intrasim_adjusted_matched", "Intra-sentence similarity, length-matched", COSINE,
        "Intra-sentence similarity minus that of unrelated words: zero when a sentence's words are no more similar.",
        shown_in="layers dots sizes contrast", heading=("intrasim", "matched"),
        curve=Curve("The words of a sentence: intra-sentence similarity", "IntraSim − unrelated words",
        "Mean cosine of a sentence's words with their mean, minus that of as many unrelated words.", zero=True),
        difference="Intra-sentence similarity"),
)
MEV = (
    Measure("mev", "Explained by one vector", SCORE,
        "MEV: σ₁²/Σσ² of a word's occurrences, not centered; mean over a seeded sample of words.", ETHAYARAJH,
        "dots sizes contrast"),
    Measure("mev_matched", "Explained, random words", SCORE, "The same for as many occurrences of different words.",
        shown_in="dots sizes"),
    Measure("mev_adjusted", "Explained by one vector, adjusted", SCORE, "MEV minus that of random words.", ETHAYARAJH,
        "layers dots sizes contrast", heading=("mev", "adjusted"), curve=Curve("Can one vector stand for a word? MEV",
        "MEV − random words",
        "Share of a word's occurrences that one vector explains, minus that of as many random words.", zero=True),
        difference="Explained by one vector"),
)
TYPES = (
    Measure("s_intra", "Within types", COSINE, "S_intra: mean self-similarity over types with two occurrences or more.",
        CAI, "dots sizes contrast"),
    Measure("s_inter", "Between types", COSINE,
        "S_inter: (|Σm|² − Σ|m|²)/(T² − T), m the mean unit vector of each of T types.", CAI, "dots sizes contrast"),
)
SINKS = Measure("sinks", "Sinks", COUNT, "Vectors with a norm over 10 times the median: they can carry a whole layer.",
    shown_in="")

FAMILIES = (
    Family((BASELINE,), baseline_of, ("layers",), ("units",), "mean cosine of two vectors from different texts, exact"),
    Family(DIVERSE, diverse_of_layer, ("layers",), ("units",), "the same on texts on many subjects, which is the "
        "model's part, and the share that is the topic's", partial=True),
    Family(SELFSIM, self_similarity, ("layers",), ("units", "words", "rows"),
        "mean cosine of a word's occurrences in different texts, over words in at least 5 (`--min-contexts`)"),
    Family(INTRASIM, intra_sentence, ("layers",), ("moments", "units", "sentences", "rows"),
        "mean cosine of the words of a sentence with their mean; as published, and against as many unrelated words, "
        "which come out at zero (as published, 8 of them do at 0.29 when the baseline is 0.4)"),
    Family(MEV, mev_findings, ("layers",), ("occurrences", "rows"),
        "what one vector explains of a word's occurrences, over 100 words drawn at random"),
    Family(TYPES, type_similarity, ("layers",), ("words", "rows"),
        "mean cosine within a type and between types, over all pairs"),
    Family((MEAN,), mean_over_rms, ("layers",), ("moments", "rows"), "as for `check`"),
    Family(ROGUE, rogue, ("layers",), ("units", "rows"), "as for `check`"),
    Family(SPECTRUM, spectrum, ("layers",), ("moments", "rows"), "as for `check`"),
    Family(PARTITION, partition, ("layers",), ("moments", "norms", "rows"), "as for `check`"),
    Family((NORM_MEAN,), norms, ("layers",), ("norms", "rows"), "as for `check`"),
    Family((SINKS,), sinks, ("layers",), ("norms",), "vectors over ten times the median norm of their layer, by name"),
)
