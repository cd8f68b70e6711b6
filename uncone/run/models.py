"""Models on workers: each process loads a model once, and checks that it is the one that the driver has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from uncone.data.source import Source
from uncone.data.storage.files import file_digest
from uncone.encoders.encoder import Encoder
from uncone.encoders.open import Loading, model_folder, open_encoder
from uncone.encoders.sentence_transformer import SentenceTransformerTexts, load_pipeline, pipeline_files
from uncone.encoders.static import is_static
from uncone.errors import MissingModelError, ModelError, OptionError

__all__ = ["SentModel", "SentPipeline", "sent_model"]

_LOADING = RLock()
"""Held while a model is loaded or prepared, which threads can't do together."""
_PREPARED: WeakKeyDictionary[Encoder, str] = WeakKeyDictionary()
"""The work for whose texts an encoder was prepared last."""


@dataclass(frozen=True)
class SentModel:
    """A model as workers open it: a path that all machines see or a name on the hub, how, and its fingerprint."""

    model: str
    loading: Loading
    fingerprint: str

    @classmethod
    def of(cls, model: Any, loading: Loading, encoder: Encoder) -> SentModel:  # noqa: ANN401 - as `open_encoder` takes it
        """The model that this machine has opened as `encoder`, for workers.

        Raises:
            OptionError: it is in memory, where no worker sees it.
        """
        if isinstance(model, Encoder):
            raise OptionError(
                f"{encoder.name} is a model in memory, and --engine needs one that workers can open. Give its folder "
                "or its name on the hub."
            )
        name = _full(os.fspath(model))
        device = loading.device
        if device == "auto":  # as here: on another device the last digits differ
            device = str(encoder.device).split(":")[0]
        return cls(name, replace(loading, device=device), encoder.fingerprint())

    @property
    def gpus(self) -> int:
        """GPUs that a worker needs."""
        return int(self.loading.device == "cuda")

    @property
    def shared(self) -> bool:
        """Whether threads of a process can share the model: one on a CPU that knows every word from the beginning."""
        return self.loading.device == "cpu" and not is_static(Path(self.model))

    def opened(self, work: str, texts: Callable[[], Iterable[str]]) -> Any:  # noqa: ANN401 - an encoder or a pipeline
        """The model of this process, loaded when it is first asked for, and prepared once for the `texts` of a `work`.

        Raises:
            MissingModelError: this machine does not see the files.
            ModelError: they are not those of the driver.
        """
        with _LOADING:
            model = _loaded(self)
            if isinstance(model, Encoder) and _PREPARED.get(model) != work:
                model.prepare(texts())
                _PREPARED[model] = work
            return model

    def kernel(self) -> dict[str, str]:
        """What the last digits of a forward pass depend on beside the model: the version of torch, and CPU kernels."""
        if is_static(Path(self.model)):
            return {}
        import torch

        kernels = {"torch": str(torch.__version__)}
        on_cpu = self.loading.device == "cpu"
        return kernels | ({"torch kernels": torch.backends.cpu.get_cpu_capability()} if on_cpu else {})

    def load(self) -> tuple[Any, str]:
        """The encoder, and its fingerprint."""
        encoder = open_encoder(self.model, self.loading)
        return encoder, encoder.fingerprint()


@dataclass(frozen=True)
class SentPipeline(SentModel):
    """The same for all modules of a sentence-transformers folder."""

    def load(self) -> tuple[Any, str]:
        """The pipeline, and a digest of its files."""
        folder = model_folder(self.model, self.loading)
        pipeline = load_pipeline(self.model, folder, self.loading.device, self.loading.trust_remote_code)
        return pipeline, file_digest(pipeline_files(folder))


@lru_cache(maxsize=1)
def _loaded(sent: SentModel) -> Any:  # noqa: ANN401 - an encoder or a pipeline
    if os.path.isabs(sent.model) and not os.path.exists(sent.model):  # noqa: PTH110, PTH117
        raise MissingModelError(f"A worker can't find the model {sent.model}. Do all machines see its files?")
    model, fingerprint = sent.load()
    if fingerprint != sent.fingerprint:
        raise ModelError(
            f"A worker has other files of the model {sent.model} than this machine. Give all machines the same files."
        )
    return model


def sent_model(source: Source, model: Any, loading: Loading) -> SentModel:  # noqa: ANN401 - as `open_encoder` takes it
    """How workers open the model of a source of texts."""
    texts: Any = getattr(source, "source", source)
    if isinstance(texts, SentenceTransformerTexts):
        return SentPipeline(_full(texts.model), replace(loading, device=texts.device), texts.identity()["fingerprint"])
    return SentModel.of(model, loading, texts.encoder)


def _full(name: str) -> str:
    """The full path of a model, or its name on the hub."""
    # Unlike pathlib's, these do not raise for a name that cannot be.
    return os.path.abspath(name) if os.path.exists(name) else name  # noqa: PTH100, PTH110
