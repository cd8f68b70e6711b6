"""sentence-transformers models with modules that we do not do ourselves: through the package itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from uncone.data.source import Rows, Source
from uncone.data.texts import TextSource
from uncone.errors import ModelError, ShapeError
from uncone.extras import require

__all__ = ["SentenceTransformerTexts"]

_POOL = 1024


class SentenceTransformerTexts(Source):
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
            self.model = SentenceTransformer(
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
        self.note = f"{name}, all modules of its sentence-transformers pipeline"

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        rows, read = islice(self.texts.read(), self.limit), 0
        while pool := list(islice(rows, _POOL)):
            vectors = np.full((len(pool), self.dim), np.nan, np.float32)
            places = [i for i, row in enumerate(pool) if row.text.strip()]
            if places:
                vectors[places] = self._encoded([pool[i].text.strip() for i in places])
            read += len(pool)
            labels = None if pool[0].label is None else [row.label or "" for row in pool]
            yield Rows(vectors, [row.text for row in pool], labels)
        if read < 2:
            raise ShapeError(f"{self.name} has {read} text; cosines need at least 2. Add some.")

    def _encoded(self, texts: list[str]) -> np.ndarray:
        found = self.model.encode(
            texts,
            prompt=self.prompt or None,  # it knows whether the prompt's tokens are pooled
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(found, np.float32)
