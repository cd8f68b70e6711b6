"""The model that is trained: a sentence-transformers pipeline from any model folder, and how it is saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uncone.data.writing.atomic import replacing, writing
from uncone.encoders.open import Loading, model_folder, open_encoder, quiet
from uncone.encoders.sentence_transformer import Recipe, read_recipe
from uncone.errors import ModelError, OptionError, require

require("torch", "sentence_transformers", "datasets", "accelerate", extra="tune")

import torch  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer  # noqa: E402
from torch import nn  # noqa: E402

from uncone.encoders.transformer import Transformer as BodyEncoder  # noqa: E402

__all__ = ["disk_errors", "load_pipeline", "save_pipeline", "set_dropout", "transformer_of"]

_DROPOUTS = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout", "hidden_dropout", "dropout"),
    *("dropout_rate", "embd_pdrop", "resid_pdrop", "attn_pdrop", "embedding_dropout", "mlp_dropout"),
)
"""Names of dropout in the configs of transformers."""
_POOLING = {"mean": "mean", "cls": "cls", "max": "max", "last": "lasttoken"}


def load_pipeline(
    model: str | os.PathLike[str],
    pooling: str | None = None,
    loading: Loading | None = None,
    dropout: float | None = None,
) -> SentenceTransformer:
    """A sentence-transformers model in float32, with its own pooling or the one named.

    Raises:
        ModelError: it is no transformer, or cannot be loaded.
    """
    loading, name = loading or Loading(), os.fspath(model)
    encoder = open_encoder(name, loading)  # it checks the folder, and says in a line what is wrong with it
    if not isinstance(encoder, BodyEncoder):
        raise ModelError(f"{name} is no transformer, and only transformers can be trained.")
    folder = model_folder(name, loading)
    recipe = read_recipe(folder)
    with quiet():
        pipeline = _pipeline(folder, recipe, pooling, encoder, loading)
    card = pipeline.model_card_data
    # The card is ours: nothing is looked up on the hub, and no examples are drawn for it.
    card.local_files_only, card.generate_widget_examples = True, False
    card.widget = [{"source_sentence": "", "sentences": []}]
    set_dropout(transformer_of(pipeline), dropout)
    return pipeline


def _pipeline(
    folder: Path, recipe: Recipe | None, pooling: str | None, encoder: BodyEncoder, loading: Loading
) -> SentenceTransformer:
    device = str(encoder.device)
    if recipe is not None and recipe.others and pooling is None:
        return SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            trust_remote_code=loading.trust_remote_code,
            model_kwargs={"dtype": torch.float32},
        )
    trusted = {"trust_remote_code": loading.trust_remote_code}
    root = folder if recipe is None else recipe.transformer
    body = Transformer(str(root), model_kwargs={"dtype": torch.float32, **trusted}, max_seq_length=encoder.window)
    if body.tokenizer.pad_token is None:
        body.tokenizer.pad_token = body.tokenizer.eos_token
    mode = _POOLING[pooling or (recipe.pooling if recipe is not None else "mean")]
    modules: list[nn.Module] = [body, Pooling(encoder.dim, mode)]
    modules += [Normalize()] if recipe is not None and recipe.normalize else []
    return SentenceTransformer(modules=modules, device=device)


def transformer_of(pipeline: SentenceTransformer) -> Any:  # noqa: ANN401 - the classes of transformers are not typed
    """The transformers model inside."""
    return pipeline[0].auto_model


def set_dropout(model: Any, dropout: float | None) -> float:  # noqa: ANN401
    """Set every dropout of a model, if one is given, and return the largest that it has.

    Raises:
        OptionError: the model has no dropout to set.
    """
    names = [name for name in _DROPOUTS if isinstance(getattr(model.config, name, None), float | int)]
    if dropout is not None:
        if not names:
            raise OptionError(f"--dropout: a {model.config.model_type} model has no dropout that can be set.")
        for name in names:
            setattr(model.config, name, dropout)
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.p = dropout
            for attribute in ("attention_dropout", "dropout_prob", "dropout"):
                if isinstance(getattr(part, attribute, None), float):
                    setattr(part, attribute, dropout)
    return max((float(getattr(model.config, name)) for name in names), default=0.0)


def save_pipeline(pipeline: SentenceTransformer, out: Path, card: str) -> None:
    """Write a stock sentence-transformers folder with its model card; it appears whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with replacing(out, folder=True) as folder, writing(out), disk_errors(), quiet():
        pipeline.save_pretrained(str(folder), create_model_card=False)
        (folder / "README.md").write_text(card, encoding="utf-8")


@contextmanager
def disk_errors() -> Iterator[None]:
    """Around what writes weights: a full disk is an OSError, whatever the library makes of it.

    Raises:
        OSError: something could not be written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, RuntimeError) as error:  # torch raises a RuntimeError when its archive can't be written
        text = " ".join(str(error).split())
        if isinstance(error, RuntimeError) and not any(
            word in text for word in ("PytorchStreamWriter", "unexpected pos", "No space")
        ):
            raise
        raise OSError(text) from error
