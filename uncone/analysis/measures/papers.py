"""The papers that measures come from."""

from __future__ import annotations

__all__ = ["CAI", "ETHAYARAJH", "FACCO", "HUBS", "LEVINA", "LI", "MU", "ROY", "RUDMAN", "TIMKEY", "WANG"]

ETHAYARAJH = "Ethayarajh 2019, How Contextual are Contextualized Word Representations?"
TIMKEY = "Timkey and van Schijndel 2021, All Bark and No Bite"
ROY = "Roy and Vetterli 2007, The effective rank"
RUDMAN = "Rudman et al. 2022, IsoScore"
MU = "Mu and Viswanath 2018, All-but-the-Top"
WANG = "Wang and Isola 2020, Alignment and Uniformity on the Hypersphere"
CAI = "Cai et al. 2021, Isotropy in the Contextual Embedding Space: Clusters and Manifolds"
LI = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"
HUBS = "Radovanović et al. 2010, Hubs in Space"
LEVINA = "Levina and Bickel 2004, Maximum Likelihood Estimation of Intrinsic Dimension"
FACCO = "Facco et al. 2017, Estimating the intrinsic dimension of datasets by a minimal neighborhood information"
