"""The categorical palette, for the verbs whose charts are not declared yet."""

from uncone.report.charts.model import CATEGORICAL as OKABE_ITO

__all__ = ["OKABE_ITO"]
