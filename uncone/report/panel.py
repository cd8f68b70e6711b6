"""The categorical palette, for the verbs whose charts are not declared yet."""

from uncone.report.charts.model import CATEGORICAL

__all__ = ["OKABE_ITO"]

OKABE_ITO = CATEGORICAL
