"""What `check` measures of a space; `layers` measures a part of it of every layer."""

from __future__ import annotations

from uncone.analysis.advice.topic import diverse_of_space
from uncone.analysis.advice.words import agreement_of_space
from uncone.analysis.cosine.baseline import baseline, central_rows, quantiles, uniformity
from uncone.analysis.cosine.rogue import rogue
from uncone.analysis.measures.measure import Curve, Family, Measure
from uncone.analysis.measures.unit import (
    CORRELATION,
    COSINE,
    COUNT,
    DIMENSION,
    DIMENSION_LIST,
    FLAG,
    LOG,
    LOG10,
    NORM,
    QUANTILES,
    RATIO,
    SCORE,
    SHARE,
)
from uncone.analysis.neighbors.neighborhood import neighborhood_of_space
from uncone.analysis.neighbors.stability import stability_of_space
from uncone.analysis.space.health import health, norms
from uncone.analysis.space.spectrum.spectrum import mean_over_rms, partition, spectrum

__all__ = [
    "CAI",
    "DIVERSE",
    "ETHAYARAJH",
    "FACCO",
    "FAMILIES",
    "LI",
    "MEAN",
    "NEIGHBORS",
    "NORM_MEAN",
    "PARTITION",
    "ROGUE",
    "SPECTRUM",
]

ETHAYARAJH = "Ethayarajh 2019, How Contextual are Contextualized Word Representations?"
TIMKEY = "Timkey and van Schijndel 2021, All Bark and No Bite"
ROY = "Roy and Vetterli 2007, The effective rank"
RUDMAN = "Rudman et al. 2022, IsoScore"
STABLE = "Rudman and Eickhoff 2024, Stable Anisotropic Regularization"
MU = "Mu and Viswanath 2018, All-but-the-Top"
WANG = "Wang and Isola 2020, Alignment and Uniformity on the Hypersphere"
CAI = "Cai et al. 2021, Isotropy in the Contextual Embedding Space: Clusters and Manifolds"
LI = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"
HUBS = "Radovanović et al. 2010, Hubs in Space"
LEVINA = "Levina and Bickel 2004, Maximum Likelihood Estimation of Intrinsic Dimension"
FACCO = "Facco et al. 2017, Estimating the intrinsic dimension of datasets by a minimal neighborhood information"

# A table: one argument per line would make it three times as long.
# fmt: off
BASELINE = Measure("baseline", "Unrelated pairs", COSINE,
    "(|Σu|² − n)/(n² − n) with u = x/|x|: the exact mean cosine over all pairs.", ETHAYARAJH, "check fix",
    heading=("baseline", ""))
DIVERSE = (
    Measure("diverse_baseline", "On many subjects", COSINE,
        "The baseline of the same model, layer and pooling on texts on many subjects: sentences that ship with uncone, "
        "or those of --diverse.", shown_in="check fix layers",
        heading=("baseline", "diverse"), curve=Curve("How similar {row}s on many subjects are", "mean cosine, baseline",
        "Mean cosine of two unrelated {row}s on many subjects. What the baseline of your texts has beyond it is your "
        "topic's.")),
    Measure("topic_share", "Crowding by the topic", SHARE,
        "1 − b/a from 0 to 1, a the baseline of the texts and b that on many subjects. It isn't measured if a is below "
        "0.05.", shown_in="check", heading=("topic's", "share")),
)
AGREEMENT = Measure("word_agreement", "Agreement with words", CORRELATION,
    "Rank correlation of the cosine with that of TF-IDF weights, over pairs of 400 texts with their 5 nearest by "
    "TF-IDF and 5 random ones.", shown_in="fix")
PAIRS = Measure("pair_cosine_quantiles", "95 % of unrelated pairs", QUANTILES,
    "Quantiles of the cosine over random pairs of vectors; every pair up to 2,048 vectors.", shown_in="check fix")
MEAN = Measure("mean_over_rms", "Distance from zero mean", SCORE, "|mean of x| / √(mean of |x|²).", MU,
    "check fix dots contrast")
ROGUE = (
    Measure("rogue_share_1", "Strongest dimension", SHARE,
        "Largest (s_j² − Σu_ij²)/(n² − n) over the baseline, s = Σu.", TIMKEY, "contrast"),
    Measure("rogue_share_3", "Three strongest dimensions", SHARE, "The same, for the three largest together.", TIMKEY,
        "layers fix dots contrast", heading=("rogue", "top 3"), curve=Curve("Rogue dimensions", "share of the baseline",
        "Share of the mean cosine from the three strongest dimensions. It isn't measured if the baseline is below "
        "0.05.")),
    Measure("rogue_share_5", "Five strongest dimensions", SHARE, "The same, for the five largest together.", TIMKEY,
        "contrast"),
    Measure("rogue_dimensions", "Rogue dimensions", DIMENSION_LIST,
        "Dimensions with at least 5 % of the baseline and three times the mean share.", TIMKEY, "check"),
)
SPECTRUM = (
    Measure("effective_rank", "Directions used", DIMENSION, "exp of the entropy of the shares λ/Σλ of the variance.",
        ROY, "check fix contrast"),
    Measure("participation_ratio", "Participation ratio", DIMENSION,
        "(Σλ)²/Σλ² over the eigenvalues λ of the covariance.", shown_in=""),
    Measure("top1_share", "Top direction", SHARE, "λ₁/Σλ.", MU, "check fix"),
    Measure("top10_share", "Top ten directions", SHARE, "(λ₁ + … + λ₁₀)/Σλ.", MU, ""),
    Measure("isoscore", "IsoScore", SCORE, "(PR − 1)/(d − 1) with PR the participation ratio.", RUDMAN, "fix"),
    Measure("isoscore_corrected", "IsoScore, corrected", SCORE,
        "The same from unbiased estimates of tr Σ² and (tr Σ)², so that n does not matter.", RUDMAN,
        "check fix layers dots contrast", heading=("isoscore", "corrected"), curve=Curve("Isotropy: IsoScore",
        "IsoScore, corrected", "From 0 (one direction) to 1 (all directions used equally).")),
    Measure("isoscore_star", "IsoScore*", SCORE,
        "IsoScore of (1 − ζ) C + ζ (tr C/d) I, the covariance C shrunk by Ledoit and Wolf's ζ.", STABLE, ""),
)
CONDITION = (
    Measure("condition_number", "Condition number", RATIO, "λ₁/λ_d, the largest over the smallest eigenvalue.",
        shown_in=""),
    Measure("condition_number_99", "Condition number, 99 %", RATIO,
        "λ₁/λ_k, with k directions holding 99 % of the variance.", shown_in=""),
)
PARTITION = (
    Measure("partition_isotropy_log10", "Partition isotropy", LOG10,
        "log₁₀ of min Z(c)/max Z(c), Z(c) = Σ exp(c·x), c = ± the eigenvectors of XᵀX.", MU, ""),
    Measure("partition_isotropy_unit_log10", "Partition isotropy at norm 1", LOG10,
        "The same after scaling the space to mean norm 1.", MU, "check fix contrast"),
)
UNIFORMITY = Measure("uniformity", "Uniformity", LOG, "log E exp(−2|u − v|²) over random pairs of unit vectors.", WANG,
    "compare")
NEIGHBORS = (
    Measure("lid_euclidean", "Local dimension, Euclidean", DIMENSION,
        "Mean over seeded vectors of (k − 1)/Σ log(r_k/r_i), r_1 … r_k the distances to the k = 100 nearest distinct "
        "vectors.", LEVINA, "check behind", heading=("LID", "euclidean"),
        curve=Curve("Local dimension, Euclidean", "LID",
        "Number of directions in which a vector has neighbors, on true distances. It grows with n, so compare "
        "it at equal n only.")),
    Measure("lid_cosine", "Local dimension, cosine", DIMENSION,
        "The same with the chord |u − v|, u = x/|x|, as distance.", LEVINA, "check behind", heading=("LID", "cosine"),
        curve=Curve("Local dimension, cosine", "LID",
        "Number of directions in which a vector has neighbors, by angle.")),
    Measure("hubness_skew", "Hubness", RATIO,
        "Skewness, over the vectors, of how often a vector is among the k = 10 nearest of another, by cosine.", HUBS,
        "check behind", heading=("hubness", "skewness"),
        curve=Curve("Hubs", "skewness of N₁₀",
        "Skewness of how often a vector is among the nearest neighbors of others. Near 0, all vectors are neighbors "
        "about equally often. The higher, the more queries get the same few.")),
    Measure("antihub_share", "Never found", SHARE, "Share of vectors among the k = 10 nearest of no other.",
        HUBS, "", curve=Curve("Anti-hubs", "share of the vectors",
        "Vectors that are among the nearest neighbors of no other.")),
)
STABILITY = (
    Measure("top10_moved", "Top 10 kept, query moved", SHARE,
        "Mean share of the 10 nearest by cosine that stay when u = x/|x| moves by r₁/2 in a random direction, r₁ the "
        "chord to the nearest vector of another direction. 200 seeded queries among up to 10,000 distinct vectors.",
        shown_in="check"),
    Measure("top10_int8", "Top 10 kept in int8", SHARE,
        "The same for the inner product of u with directions rounded to 256 levels between the least and the largest "
        "number of each dimension; the query stays exact (QT_8bit of FAISS).", shown_in="check"),
    Measure("top10_bits", "Top 10 kept in bits", SHARE,
        "The same by the number of equal signs of two vectors; equally near ones count by their chance.",
        shown_in="check"),
    Measure("top10_bits_centered", "Top 10 kept, centered bits", SHARE,
        "The same by the signs of u less the mean direction.", shown_in="check"),
)
NORM_MEAN = Measure("norm_mean", "Mean norm", NORM, "Mean of |x|.", shown_in="check layers contrast",
    heading=("norm", "mean"), curve=Curve("Norms of the vectors", "mean norm, |x|", "Mean length of a vector."))
OUTLIERS = Measure("norm_outliers", "Outlier vectors", COUNT,
    "Vectors over 10 times the median norm, or under a tenth of it.", shown_in="")
CENTRAL = Measure("central_rows", "Closest to everything", COSINE,
    "The highest mean cosine of a vector with all others; vectors by name.", HUBS, "")
HEALTH = (
    Measure("bad_rows", "Bad vectors", COUNT, "Vectors with NaN, infinity or numbers beyond the working precision.",
        shown_in="health compare"),
    Measure("zero_vectors", "Zero vectors", COUNT, "Vectors of norm 0.", shown_in="health"),
    Measure("duplicate_share", "Duplicates", SHARE,
        "Share of vectors that repeat an earlier one exactly, in the working precision.", shown_in="health compare"),
    Measure("constant_dimensions", "Constant dimensions", DIMENSION_LIST,
        "Dimensions with the same number in every vector.", shown_in="health"),
    Measure("rows_per_dimension", "Vectors per dimension", RATIO, "n/d.", shown_in="health"),
    Measure("looks_transposed", "Looks transposed", FLAG,
        "1 if the number of vectors is a usual dimension and d is not.", shown_in="health"),
)

_SAMPLE = ("pairs", "prints")
"""A sample of the vectors, and how many of all are distinct."""

FAMILIES = (
    Family((BASELINE,), baseline, ("check",), ("units", *_SAMPLE), "mean cosine over all pairs, exact"),
    Family(DIVERSE, diverse_of_space, ("check",), ("units", *_SAMPLE), "the same on texts on many subjects, which is "
        "the model's part, and the share that is the topic's; for texts with a model", partial=True),
    Family((AGREEMENT,), agreement_of_space, ("check",), ("pairs",), "whether texts that share words score higher: "
        "compare it before and after a repair; for vectors with texts", partial=True),
    Family((PAIRS,), quantiles, ("check",), _SAMPLE, "quantiles of the cosine of random pairs"),
    Family((MEAN,), mean_over_rms, ("check",), ("moments", "pairs"), "how far the space is from zero mean"),
    Family(ROGUE, rogue, ("check",), ("units", *_SAMPLE),
        "share of the mean cosine that the strongest dimensions carry, and which stand out; not given below a baseline "
        "of 0.05"),
    Family((*SPECTRUM[:4], *CONDITION, *SPECTRUM[4:]), spectrum, ("check",), ("moments", *_SAMPLE),
        "how many directions carry the variance, how unevenly, and the share of the dimensions in even use"),
    Family(PARTITION, partition, ("check",), ("moments", "norms", *_SAMPLE),
        "isotropy by the partition function, as the space is and at mean norm 1", turn="last"),
    Family((UNIFORMITY,), uniformity, ("check",), _SAMPLE, "how evenly vectors spread over the sphere", turn="last"),
    Family(NEIGHBORS, neighborhood_of_space, ("check",), ("pairs",),
        "local intrinsic dimension and hubs by name, on a sample; among all vectors with `--deep`", turn="aside"),
    Family(STABILITY, stability_of_space, ("check",), ("pairs",),
        "how many of the 10 nearest stay when a query moves a little, and in an index of 8 bits or one bit per "
        "dimension; only with `--deep`", turn="aside", partial=True),
    Family((NORM_MEAN, OUTLIERS), norms, ("check",), ("norms", "pairs"), "lengths, and vectors out of line by name"),
    Family((CENTRAL,), central_rows, ("check",), ("units", "pairs"), "vectors that are close to everything, by name"),
    Family(HEALTH, health, ("check",), ("unusable", "moments", *_SAMPLE), "health of the data"),
)
