"""A module of sentence-transformers that applies a saved repair: for repairs that no stock `Dense` can hold.

It needs uncone where the model is loaded, and `trust_remote_code=True`, because it is no class of
sentence-transformers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from uncone.errors import require

require("torch", "sentence_transformers", extra="models")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Module  # noqa: E402
from torch import Tensor  # noqa: E402

from uncone.exports.sentence_transformers.loading import inner_mask, pooled  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402
from uncone.repairs.saving import load, save  # noqa: E402

__all__ = ["RepairModule"]


class RepairModule(Module):  # type: ignore[misc]
    """Repairs the output of the modules before it: a text's vector, or its tokens, which it then pools.

    `before` and `after` count the special tokens around a text, which a repair of tokens leaves out.
    """

    config_keys = ["level", "pooling", "before", "after"]  # noqa: RUF012 - sentence-transformers reads it so

    def __init__(
        self, repair: Repair, level: str = "sentence", pooling: str = "mean", before: int = 0, after: int = 0
    ) -> None:
        super().__init__()
        self.repair, self.level, self.pooling, self.before, self.after = repair, level, pooling, before, after

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:  # noqa: ANN401
        """Set `sentence_embedding` (b, m)."""
        if self.level == "sentence":
            features["sentence_embedding"] = self._repair_rows(features["sentence_embedding"])
            return features
        states: Tensor = features["token_embeddings"]
        fixed = self._repair_rows(states.reshape(-1, states.shape[-1])).reshape(*states.shape[:2], -1)
        mask = inner_mask(features["attention_mask"], self.before, self.after)
        features["token_embeddings"] = fixed
        features["sentence_embedding"] = pooled(fixed, mask, self.pooling)
        return features

    def _repair_rows(self, rows: Tensor) -> Tensor:
        repaired = self.repair.map(rows.detach().to("cpu", torch.float32).numpy())
        return torch.from_numpy(np.ascontiguousarray(repaired)).to(rows.device, rows.dtype)

    def get_embedding_dimension(self) -> int:
        """The output dimension."""
        return int(self.repair.map(np.zeros((1, int(self.repair.n_features_in_)), np.float32)).shape[1])

    def get_sentence_embedding_dimension(self) -> int:
        """The output dimension, under the name in older versions of sentence-transformers."""
        return self.get_embedding_dimension()

    def save(self, output_path: str, *_: Any, **__: Any) -> None:  # noqa: ANN401
        """Write the settings, and the repair beside them."""
        self.save_config(output_path)
        save(self.repair, Path(output_path) / "repair", {})

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Self:  # noqa: ANN401
        """Read what `save` wrote."""
        places = {key: kwargs.get(key) for key in ("token", "cache_folder", "revision")}
        places["local_files_only"] = bool(kwargs.get("local_files_only"))
        folder = cls.load_dir_path(model_name_or_path, subfolder, **places)
        settings = json.loads((Path(folder) / cls.config_file_name).read_text(encoding="utf-8"))
        return cls(load(Path(folder) / "repair").repair, **{key: settings[key] for key in cls.config_keys})
