"""sentence-transformers folders: the recipe that we follow ourselves, and the whole pipeline through the package."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.storage.files import file_digest
from uncone.data.texts.selection import Unit
from uncone.data.texts.texts import TextSource
from uncone.encoders.text_vectors import ModelTexts
from uncone.errors import ModelError, require

__all__ = ["Recipe", "SentenceTransformerTexts", "load_pipeline", "pipeline_files", "read_recipe"]

_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_NAMES = {"cls": "cls", "mean": "mean", "max": "max", "lasttoken": "last", "last": "last"}


@dataclass(frozen=True)
class Recipe:
    """Where the transformer lies, pooling, whether vectors are normalized, the tokens it takes of a text, its prompt.

    `others` are modules and settings beyond these, for which the sentence-transformers package itself is needed.
    """

    transformer: Path
    pooling: str = "mean"
    normalize: bool = False
    longest: int | None = None
    prompt: str = ""
    others: tuple[str, ...] = ()


def read_recipe(folder: Path) -> Recipe | None:
    """The recipe of a folder; None when it is a plain model.

    Raises:
        ModelError: its modules.json cannot be read.
    """
    if not (folder / "modules.json").is_file():
        return None
    try:
        modules = [(module["type"].strip(), folder / module["path"]) for module in _read(folder / "modules.json")]
        pooling, others, transformer = "mean", [], folder
        for kind, place in modules:
            name = kind.rsplit(".", 1)[-1] if kind.startswith("sentence_transformers.") else kind
            if name == "Pooling":
                config = _read(place / "config.json")
                pooling = _pooling(config) or pooling
                others += [] if _pooling(config) and config.get("include_prompt", True) else ["Pooling"]
            elif name == "Transformer":
                transformer = place
            elif name != "Normalize":
                others.append(name)
        longest = _optional(transformer / "sentence_bert_config.json").get("max_seq_length")
        settings = _optional(folder / "config_sentence_transformers.json")
        prompt = (settings.get("prompts") or {}).get(settings.get("default_prompt_name") or "", "")
        normal = any(kind.endswith(".Normalize") for kind, _ in modules)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder / 'modules.json'} does not describe a sentence-transformers model ({error})."
        ) from error
    return Recipe(transformer, pooling, normal, longest, prompt, tuple(others))


def _optional(path: Path) -> dict[str, Any]:
    return dict(_read(path)) if path.is_file() else {}


def _pooling(config: dict[str, Any]) -> str | None:
    mode = config.get("pooling_mode")
    if isinstance(mode, str):
        return _NAMES.get(mode)
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    return _MODES.get(modes[0]) if len(modes) == 1 else None


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))


_POOL = 1024
_READ = (".safetensors", ".json", ".txt", ".model", ".py")  # what a pipeline is made of


def load_pipeline(name: str, folder: Path, device: str, trust_remote_code: bool = False) -> Any:  # noqa: ANN401
    """The modules of a folder, ready to encode; threads may share them.

    Raises:
        ModelError: sentence-transformers can't load it.
    """
    require("sentence_transformers", extra="models")
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        pipeline = SentenceTransformer(
            str(folder),
            device=device,
            model_kwargs={"dtype": torch.float32, "use_safetensors": True},
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
    preprocess, lock = pipeline.preprocess, Lock()

    def locked(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as sentence-transformers has it
        with lock:  # a tokenizer can't be used by two threads at once
            return preprocess(*arguments, **keywords)

    pipeline.preprocess = locked
    return pipeline


def pipeline_files(folder: Path) -> list[Path]:
    """The files that a pipeline is made of."""
    return sorted(path for path in folder.rglob("*") if path.suffix in _READ and path.is_file())


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
        self.pipeline = load_pipeline(name, folder, device, trust_remote_code)
        self.texts, self.prompt, self.batch_size, self.limit = texts, prompt, batch_size or 32, limit
        self.name, self.kind, self.dtype, self.rows = texts.name, f"texts through {name}", "float32", None
        self.dim = len(self._encode(["a"])[0])
        self.model, self.device = name, device
        self.files = pipeline_files(folder)
        self.note = self.describe(0)

    def with_model(self, model: Any) -> Self:  # noqa: ANN401 - a pipeline, or None
        other = copy.copy(self)
        other.pipeline = model
        return other

    def pools(self) -> Iterator[list[Unit]]:
        rows = islice(self.texts.read(), self.limit)
        while pool := list(islice(rows, _POOL)):
            yield [Unit(number, number, text, label) for number, text, label in pool]

    def encode(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        return self._encode(list(texts)), np.zeros(len(texts), np.bool_)

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

    def describe(self, truncated: int) -> str:
        return f"{self.model}, all modules of its sentence-transformers pipeline"

    def _encode(self, texts: list[str]) -> np.ndarray:
        vectors = self.pipeline.encode(
            texts,
            prompt=self.prompt or None,  # it knows whether the prompt's tokens are pooled
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, np.float32)
