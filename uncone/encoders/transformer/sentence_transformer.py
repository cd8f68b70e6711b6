"""sentence-transformers models with modules that we do not do ourselves: through the package itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.digest import file_digest
from uncone.data.texts.selection import Unit
from uncone.data.texts.texts import TextSource
from uncone.encoders.source import ModelTexts
from uncone.errors import ModelError
from uncone.extras import require

__all__ = ["SentenceTransformerTexts"]

_POOL = 1024
_READ = (".safetensors", ".json", ".txt", ".model", ".py")  # what a pipeline is made of


class SentenceTransformerTexts(ModelTexts):
    """The vectors that a whole sentence-transformers pipeline gives to texts."""

    def __init__(
        self,
        texts: TextSource,
        name: str,
        folder: Path,
        device: str,
        prompt: str = "",
        batch_size: int | None = None,
        limit: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        require("sentence_transformers", extra="models")
        import torch
        from sentence_transformers import SentenceTransformer

        try:
            kept = {"dtype": torch.float32, "use_safetensors": True}
            self.pipeline = SentenceTransformer(
                str(folder),
                device=device,
                model_kwargs=kept,
                local_files_only=True,
                trust_remote_code=trust_remote_code,
            )
        except Exception as error:  # each module raises its own kinds
            if "trust_remote_code" in str(error):
                raise ModelError(
                    f"{name} brings code of its own, which we do not run. If you trust it: --trust-remote-code."
                ) from error
            reason = " ".join(str(error).split())[:160]
            raise ModelError(f"{name} could not be loaded by sentence-transformers ({reason}).") from error
        self.texts, self.prompt, self.batch_size, self.limit = texts, prompt, batch_size or 32, limit
        self.name, self.kind, self.dtype, self.rows = texts.name, f"texts through {name}", "float32", None
        self.dim = len(self._encoded(["a"])[0])
        self.model = name
        self.files = sorted(path for path in folder.rglob("*") if path.suffix in _READ and path.is_file())
        self.note = self.said(0)

    def pools(self) -> Iterator[list[Unit]]:
        rows = islice(self.texts.read(), self.limit)
        while pool := list(islice(rows, _POOL)):
            yield [Unit(row.row, row.row, row.text, row.label) for row in pool]

    def encode(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        return self._encoded(list(texts)), np.zeros(len(texts), np.bool_)

    def identity(self) -> dict[str, Any]:
        return {
            "level": "sentence",
            "layer": "all modules",
            "pooling": "its own",
            "prompt": self.prompt,
            "window": self.pipeline.max_seq_length,
            "encoder": "sentence-transformers",
            "fingerprint": file_digest(self.files),
        }

    def said(self, truncated: int) -> str:
        return f"{self.model}, all modules of its sentence-transformers pipeline"

    def _encoded(self, texts: list[str]) -> np.ndarray:
        found = self.pipeline.encode(
            texts,
            prompt=self.prompt or None,  # it knows whether the prompt's tokens are pooled
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(found, np.float32)
