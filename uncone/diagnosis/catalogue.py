"""What each finding is called, how it is defined and where it comes from: the words behind the numbers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "CONTEXT", "DEEP", "HEALTH", "NUMERIC", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A measure: its title, its definition in a line, and the paper."""

    title: str
    definition: str
    paper: str = ""


_ETHAYARAJH = "Ethayarajh 2019, How Contextual are Contextualized Word Representations?"
_TIMKEY = "Timkey and van Schijndel 2021, All Bark and No Bite"
_ROY = "Roy and Vetterli 2007, The effective rank"
_RUDMAN = "Rudman et al. 2022, IsoScore"
_MU = "Mu and Viswanath 2018, All-but-the-Top"
_WANG = "Wang and Isola 2020, Alignment and Uniformity on the Hypersphere"
_CAI = "Cai et al. 2021, Isotropy in the Contextual Embedding Space: Clusters and Manifolds"
_LI = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"
_HUBS = "Radovanović et al. 2010, Hubs in Space"
_LEVINA = "Levina and Bickel 2004, Maximum Likelihood Estimation of Intrinsic Dimension"
_FACCO = "Facco et al. 2017, Estimating the intrinsic dimension of datasets by a minimal neighborhood information"

CATALOGUE: dict[str, Entry] = {
    "baseline": Entry(
        "Random pairs", "(|Σu|² − n)/(n² − n) with u = x/|x|: the exact mean cosine over all pairs.", _ETHAYARAJH
    ),
    "pair_cosine_quantiles": Entry(
        "95 % of random pairs", "Quantiles of the cosine over random pairs of rows; every pair up to 2,048 rows."
    ),
    "mean_over_rms": Entry("Distance from zero mean", "|mean of x| / √(mean of |x|²).", _MU),
    "rogue_share_1": Entry(
        "Strongest dimension", "Largest (s_j² − Σu_ij²)/(n² − n) over the baseline, s = Σu.", _TIMKEY
    ),
    "rogue_share_3": Entry("Three strongest dimensions", "The same, for the three largest together.", _TIMKEY),
    "rogue_share_5": Entry("Five strongest dimensions", "The same, for the five largest together.", _TIMKEY),
    "rogue_dimensions": Entry(
        "Rogue dimensions", "Dimensions with at least 5 % of the baseline and three times the mean share.", _TIMKEY
    ),
    "effective_rank": Entry("Directions used", "exp of the entropy of the shares λ/Σλ of the variance.", _ROY),
    "participation_ratio": Entry("Participation ratio", "(Σλ)²/Σλ² over the eigenvalues λ of the covariance."),
    "top1_share": Entry("Top direction", "λ₁/Σλ.", _MU),
    "top10_share": Entry("Top ten directions", "(λ₁ + … + λ₁₀)/Σλ.", _MU),
    "condition_number": Entry("Condition number", "λ₁/λ_d, the largest over the smallest eigenvalue."),
    "condition_number_99": Entry("Condition number, 99 %", "λ₁/λ_k, with k directions holding 99 % of the variance."),
    "isoscore": Entry("IsoScore", "(PR − 1)/(d − 1) with PR the participation ratio.", _RUDMAN),
    "isoscore_corrected": Entry(
        "IsoScore, corrected",
        "The same from unbiased estimates of tr Σ² and (tr Σ)², so that n does not matter.",
        _RUDMAN,
    ),
    "partition_isotropy_log10": Entry(
        "Partition isotropy", "log₁₀ of min Z(c)/max Z(c), Z(c) = Σ exp(c·x), c = ± the eigenvectors of XᵀX.", _MU
    ),
    "partition_isotropy_unit_log10": Entry(
        "Partition isotropy at norm 1", "The same after scaling the space to mean norm 1.", _MU
    ),
    "uniformity": Entry("Uniformity", "log E exp(−2|u − v|²) over random pairs of unit vectors.", _WANG),
    "lid_euclidean": Entry(
        "Local dimension, Euclidean",
        "Mean over seeded rows of (k − 1)/Σ log(r_k/r_i), r_1 … r_k the distances to the k = 100 nearest distinct "
        "rows.",
        _LEVINA,
    ),
    "lid_cosine": Entry("Local dimension, cosine", "The same with the chord |u − v|, u = x/|x|, as distance.", _LEVINA),
    "hubness_skew": Entry(
        "Hubness",
        "Skewness, over the rows, of how often a row is among the k = 10 nearest of another, by cosine.",
        _HUBS,
    ),
    "antihub_share": Entry("Never found", "Share of the rows that are among the k = 10 nearest of no other.", _HUBS),
    "norm_mean": Entry("Mean norm", "Mean of |x|."),
    "norm_outliers": Entry("Outlier rows", "Rows over 10 times the median norm, or under a tenth of it."),
    "central_rows": Entry(
        "Closest to everything", "The highest mean cosine of a row with all others; rows by name.", _HUBS
    ),
    "bad_rows": Entry("Bad rows", "Rows that hold NaN, infinity or numbers beyond the working precision."),
    "zero_vectors": Entry("Zero vectors", "Rows of norm 0."),
    "duplicate_share": Entry(
        "Duplicates", "Share of rows that repeat an earlier row bit for bit, in the working precision."
    ),
    "constant_dimensions": Entry("Constant dimensions", "Dimensions with the same number in every row."),
    "rows_per_dimension": Entry("Rows per dimension", "n/d."),
    "looks_transposed": Entry("Looks transposed", "1 when the number of rows is a usual dimension and d is not."),
}

CONTEXT: dict[str, Entry] = {
    "baseline": Entry(
        "Random words",
        "(|ΣU|² − Σ|U_s|²)/(n² − Σn_s²), U_s the sum of u = x/|x| over sentence s: the exact mean cosine over all "
        "pairs from different sentences.",
        _ETHAYARAJH,
    ),
    "selfsim": Entry(
        "Self-similarity",
        "Mean cosine of a word's occurrences in different sentences; plain mean over the words with enough sentences.",
        _ETHAYARAJH,
    ),
    "selfsim_adjusted": Entry("Self-similarity, adjusted", "The same minus the baseline of the layer.", _ETHAYARAJH),
    "intrasim": Entry(
        "Intra-sentence similarity",
        "Mean cosine of the words of a sentence with their mean vector; mean over sentences of two words or more.",
        _ETHAYARAJH,
    ),
    "intrasim_adjusted": Entry(
        "Intra-sentence similarity, minus baseline",
        "The same minus the baseline, as published. Unrelated words do not come out at zero.",
        _ETHAYARAJH,
    ),
    "intrasim_matched": Entry(
        "Intra-sentence similarity of unrelated words", "The same for sentences of the same lengths, of random words."
    ),
    "intrasim_adjusted_matched": Entry(
        "Intra-sentence similarity, length-matched",
        "Intra-sentence similarity minus that of unrelated words: zero when a sentence's words are no more alike.",
    ),
    "mev": Entry(
        "Explained by one vector",
        "MEV: σ₁²/Σσ² of a word's occurrences, not centred; mean over a seeded sample of words.",
        _ETHAYARAJH,
    ),
    "mev_matched": Entry("Explained, random words", "The same for as many occurrences of different words."),
    "mev_adjusted": Entry("Explained by one vector, adjusted", "MEV minus that of random words.", _ETHAYARAJH),
    "s_intra": Entry("Within types", "S_intra: mean self-similarity over types with two occurrences or more.", _CAI),
    "s_inter": Entry(
        "Between types", "S_inter: (|Σm|² − Σ|m|²)/(T² − T), m the mean unit vector of each of T types.", _CAI
    ),
    "sinks": Entry("Sinks", "Rows with a norm over 10 times the median: they can carry a whole layer."),
}
"""What `layers` measures beside the findings of `check`; its baseline is over pairs from different sentences."""

DEEP: dict[str, Entry] = {
    "twonn_euclidean": Entry(
        "Dimension from two, Euclidean",
        "TwoNN: slope through zero of −log(1 − F) over log(r₂/r₁), r₁ and r₂ the distances to the two nearest distinct "
        "rows; the largest tenth left out.",
        _FACCO,
    ),
    "twonn_cosine": Entry("Dimension from two, cosine", "The same with the chord |u − v| as distance.", _FACCO),
    "cluster_count": Entry(
        "Clusters",
        "k of 2 to 15 with the largest mean Euclidean silhouette of k-means, on a seeded sample; 1 when under 0.1.",
        _CAI,
    ),
    "cluster_silhouette": Entry(
        "Silhouette", "Mean of (b − a)/max(a, b): a the mean distance to the own cluster, b to the nearest other.", _CAI
    ),
    "s_inter_global": Entry("Between types, mean taken off", "S_inter after subtracting the mean of all rows.", _CAI),
    "s_intra_global": Entry("Within types, mean taken off", "S_intra after subtracting the mean of all rows.", _CAI),
    "s_inter_within_raw": Entry(
        "Between types, in a cluster", "S_inter of rows of one cluster, nothing subtracted; clusters weighted by size."
    ),
    "s_intra_within_raw": Entry(
        "Within types, in a cluster", "S_intra of rows of one cluster, nothing subtracted; clusters weighted by size."
    ),
    "s_inter_within": Entry(
        "Between types, cluster means taken off",
        "S_inter inside clusters after subtracting the mean of each, weighted by size. Small by construction.",
        _CAI,
    ),
    "s_intra_within": Entry(
        "Within types, cluster means taken off",
        "S_intra inside clusters after subtracting the mean of each, weighted by size. Small by construction.",
        _CAI,
    ),
    "isoscore_within": Entry(
        "IsoScore in clusters", "IsoScore, corrected, of the rows of each cluster; mean weighted by size.", _CAI
    ),
    "frequency_norm_r": Entry(
        "Frequency and mean norm",
        "Correlation of log p(w) with the mean of the norms of the word's rows; interval by Fisher's z.",
        _LI,
    ),
    "frequency_vector_norm_r": Entry(
        "Frequency and norm of the mean",
        "Correlation of log p(w) with the norm of the word's vector, the mean of its rows, which is shorter the more "
        "rows there are; interval by Fisher's z.",
        _LI,
    ),
    "frequency_pc1_r": Entry(
        "Frequency and first component",
        "|Correlation| of log p(w) with the first principal component of one vector per word.",
        _LI,
    ),
    "frequency_explained": Entry(
        "What tells frequency",
        "Adjusted R² of log p(w) on the norm and the first ten principal components together.",
        _LI,
    ),
    "manifold_ratio": Entry(
        "Curved or flat",
        "Local dimension over that of as many Gaussian rows with the same mean and covariance (of each cluster that "
        "stands apart). A curved sheet is well below 1; so are small clusters.",
        _CAI,
    ),
    "position_angle_r": Entry(
        "Position along the curve",
        "Rank correlation of position with the angle along the path of the mean rows by position, on the principal "
        "components 1 to 3; judged against permuted positions.",
    ),
    "manifold_visible": Entry(
        "Curved sheet", "1 when a curved sheet of few dimensions, or a curve by position, is visible.", _CAI
    ),
}
"""What `layers --deep` measures beside those."""

HEALTH = (
    "bad_rows",
    "zero_vectors",
    "duplicate_share",
    "constant_dimensions",
    "rows_per_dimension",
    "looks_transposed",
)
"""The findings about the data, not the space."""

NUMERIC = tuple(name for name in CATALOGUE if name != "pair_cosine_quantiles")
"""The findings that a gate can compare with a number; a list counts by its length."""
