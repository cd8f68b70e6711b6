"""What `layers --deep` measures on a sample of every layer."""

from __future__ import annotations

from uncone.analysis.clusters.story import cluster_findings
from uncone.analysis.frequency.frequency import frequency_findings
from uncone.analysis.measures.check import CAI, FACCO, LI, NEIGHBORS
from uncone.analysis.measures.measure import Curve, Family, Measure
from uncone.analysis.measures.unit import CORRELATION, COSINE, COUNT, DIMENSION, FLAG, RATIO, SCORE
from uncone.analysis.neighbors.manifold import manifold_findings
from uncone.analysis.neighbors.neighborhood import neighborhood_findings

__all__ = ["FAMILIES"]

# A table: one argument per line would make it three times as long.
# fmt: off
TWO_NN = (
    Measure("twonn_euclidean", "Dimension from two, Euclidean", DIMENSION,
        "TwoNN: slope through zero of −log(1 − F) over log(r₂/r₁), r₁ and r₂ the distances to the two nearest distinct "
        "vectors; the largest tenth left out.", FACCO, ""),
    Measure("twonn_cosine", "Dimension from two, cosine", DIMENSION, "The same with the chord |u − v| as distance.",
        FACCO, ""),
)
CLUSTERS = (
    Measure("cluster_count", "Clusters", COUNT,
        "k of 2 to 15 with the largest mean Euclidean silhouette of k-means, on a seeded sample; 1 when under 0.1.",
        CAI, "behind", heading=("clusters", "k"), curve=Curve("Clusters", "clusters, k",
        "Number of k-means clusters. It is the k you chose, or the one with the best Euclidean silhouette; 1 if none "
        "reaches 0.1.")),
    Measure("cluster_silhouette", "Silhouette", SCORE,
        "Mean of (b − a)/max(a, b): a the mean distance to the own cluster, b to the nearest other.", CAI, "behind",
        heading=("silhou-", "ette"),
        curve=Curve("How clear the clusters are", "silhouette", "From 0 (no clusters) to 1 (far apart).")),
)
TYPES = (
    Measure("s_inter_global", "Between types, mean taken off", COSINE,
        "S_inter after subtracting the mean of all vectors.", CAI, "",
        curve=Curve("Different {row}s, centered", "S_inter",
        "Mean cosine of different {row}s after subtracting the mean of all vectors.", zero=True)),
    Measure("s_intra_global", "Within types, mean taken off", COSINE,
    "S_intra after subtracting the mean of all vectors.",
        CAI, ""),
    Measure("s_inter_within_raw", "Between types, in a cluster", COSINE,
        "S_inter of vectors of one cluster, nothing subtracted; clusters weighted by size.", shown_in=""),
    Measure("s_intra_within_raw", "Within types, in a cluster", COSINE,
        "S_intra of vectors of one cluster, nothing subtracted; clusters weighted by size.", shown_in=""),
    Measure("s_inter_within", "Between types, cluster means taken off", COSINE,
        "S_inter inside clusters after subtracting the mean of each, weighted by size. Small by construction.", CAI, "",
        curve=Curve("Different {row}s, centered by cluster", "S_inter",
        "Mean cosine of different {row}s inside clusters after subtracting the mean of each. Only its "
        "difference from centering all vectors is due to the clusters.", zero=True)),
    Measure("s_intra_within", "Within types, cluster means taken off", COSINE,
        "S_intra inside clusters after subtracting the mean of each, weighted by size. Small by construction.", CAI,
        ""),
    Measure("isoscore_within", "IsoScore in clusters", SCORE,
        "IsoScore, corrected, of the vectors of each cluster; mean weighted by size.", CAI, "",
        curve=Curve("Isotropy inside clusters", "IsoScore",
        "IsoScore from 0 (one direction) to 1 (all directions used equally), weighted by the size of the clusters.")),
)
FREQUENCY = (
    Measure("frequency_norm_r", "Frequency and mean norm", CORRELATION,
        "Correlation of log p(w) with the mean norm of the word's occurrences; interval by Fisher's z.", LI, "behind",
        heading=("freq-norm", "r"), curve=Curve("Frequency and mean norm", "r",
        "Correlation of a word's log-frequency with the mean norm of its vectors.", zero=True)),
    Measure("frequency_vector_norm_r", "Frequency and norm of the mean", CORRELATION,
        "Correlation of log p(w) with the norm of the word's vector, the mean of its occurrences, which is shorter the "
        "more there are; interval by Fisher's z.", LI, ""),
    Measure("frequency_pc1_r", "Frequency and first component", CORRELATION,
        "|Correlation| of log p(w) with the first principal component of one vector per word.", LI, ""),
    Measure("frequency_explained", "What explains frequency", SCORE,
        "Adjusted R² of log p(w) on the norm and the first ten principal components together.", LI, "",
        curve=Curve("What explains frequency", "R²",
        "Share of the variance of log-frequency that the norm and the first ten principal components explain.")),
)
MANIFOLD = (
    Measure("manifold_ratio", "Curved or flat", RATIO,
        "Local dimension over that of as many Gaussian vectors with the same mean and covariance (of each cluster that "
        "stands apart). A curved sheet is well below 1; so are small clusters.", CAI, "", curve=Curve("Curved or flat",
        "LID / LID if flat",
        "Local dimension over that of Gaussian vectors with the same mean and covariance. A curved sheet lies well "
        "below 1, but so do many small clusters.")),
    Measure("position_angle_r", "Position along the curve", CORRELATION,
        "Rank correlation of position with the angle along the path of the mean vectors by position, on the principal "
        "components 1 to 3; judged against permuted positions.", shown_in="", curve=Curve("Position along the curve",
        "|r|", "Correlation of the position of a vector with the angle along the curve of the mean vectors by "
        "position.", zero=True)),
    Measure("manifold_visible", "Curved sheet", FLAG,
        "1 when a curved sheet of few dimensions, or a curve by position, is visible.", CAI, ""),
)

FAMILIES = (
    Family((*NEIGHBORS[:2], *TWO_NN, *NEIGHBORS[2:]),
        lambda layer: neighborhood_findings(layer.dimensions, layer.hubness), ("deep",), ("rows",),
        parts=("dimensions", "hubness"),
        summary="local intrinsic dimension on true distances, from 100 and from the two nearest; hubs, and "
        "vectors that are nobody's neighbor"),
    Family((*CLUSTERS, *TYPES), lambda layer: cluster_findings(layer.clusters), ("deep",), ("rows",),
        parts=("clusters",), summary="k, how clear the clusters are, and cosines and isotropy inside them"),
    Family(FREQUENCY, lambda layer: [] if layer.frequency is None else frequency_findings(layer.frequency), ("deep",),
        ("rows",), parts=("frequency",), partial=True,
        summary="log-frequency of a word against lengths and principal components"),
    Family(MANIFOLD, lambda layer: manifold_findings(layer.manifold), ("deep",), ("rows",),
        parts=("manifold",), partial=True, summary="the manifold question"),
)
