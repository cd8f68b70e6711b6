"""Opening of models: a folder, a file of word vectors, ELMo or a name on the hub becomes an encoder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.data.cache import VectorCache
from uncone.data.source import Source
from uncone.data.storage.fetch import fetched
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.texts.texts import TextSource
from uncone.encoders.encoder import Encoder
from uncone.encoders.pooling import Pooling, parse_layers
from uncone.encoders.sentence_transformer import Recipe, read_recipe
from uncone.encoders.static import StaticEncoder, is_static
from uncone.encoders.text_vectors import EncodedTexts, ModelTexts
from uncone.errors import MissingModelError, ModelError, OptionError, require

__all__ = [
    "DEVICES",
    "DTYPES",
    "Loading",
    "check_fresh",
    "model_folder",
    "open_encoder",
    "pooled_encoder",
    "quiet",
    "sentence_source",
]

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "float16", "bfloat16")
_LONGEST_NAME = 96  # of a model on the hub
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "tokenizer_config.json")
_WEIGHTS = ("*.safetensors",)
_PICKLED = ("*.bin", "*.pt")
_FETCHED = ("*.json", "*.txt", "*.model", "*.py", "tokenizer*")


@dataclass(frozen=True)
class Loading:
    """How a model is loaded: which revision, where to, and what a stranger's folder may do.

    With `fresh`, a seed, its weights are not loaded but drawn anew, as its architecture does it before training.
    """

    revision: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    allow_pickle: bool = False
    trust_remote_code: bool = False
    fresh: int | None = None


def open_encoder(model: str | os.PathLike[str] | Encoder, loading: Loading | None = None) -> Encoder:
    """The encoder that a path or a name stands for.

    Raises:
        MissingModelError: there is no such file or folder, and the hub did not give it either.
        ModelError: it is there but cannot be used.
    """
    loading = loading or Loading()
    if loading.fresh is not None:
        check_fresh(model, loading)
    if isinstance(model, Encoder):
        return model
    name = os.fspath(model)
    if is_static(Path(name)):
        return StaticEncoder(Path(name))
    folder = model_folder(name, loading)
    if _is_elmo(folder):
        require("torch", "h5py", extra="models")
        from uncone.encoders.elmo import ElmoEncoder

        return ElmoEncoder(name, folder, _device(loading.device))
    return _open_transformer(name, folder, loading)


def sentence_source(
    texts: TextSource,
    model: str | os.PathLike[str] | Encoder,
    *,
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    loading: Loading | None = None,
    cache: VectorCache | None = None,
    least: int = 2,
) -> Source:
    """One vector per text: as the model's own recipe says, where it has one, unless a layer or pooling is asked for.

    With a `cache`, texts that it knows are not encoded again. Fewer than `least` texts are an error.
    """
    loading = loading or Loading()
    source: ModelTexts
    recipe = _recipe(model, loading)
    if recipe is not None and recipe.others and layer is None and pooling is None:
        from uncone.encoders.sentence_transformer import SentenceTransformerTexts

        name = os.fspath(model)  # type: ignore[arg-type]  # an Encoder has no recipe
        folder, device = model_folder(name, loading), _device(loading.device)
        with quiet():
            source = SentenceTransformerTexts(
                texts, name, folder, device, prompt, batch_size, limit, loading.trust_remote_code
            )
    else:
        encoder, settings = pooled_encoder(model, layer=layer, pooling=pooling, prompt=prompt, loading=loading)
        source = EncodedTexts(texts, encoder, settings, batch_size, limit)
    source.least = least
    if cache is None:
        return source
    from uncone.encoders.cached import CachedTexts

    return CachedTexts(source, cache)


def pooled_encoder(
    model: str | os.PathLike[str] | Encoder,
    *,
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    loading: Loading | None = None,
) -> tuple[Encoder, Pooling]:
    """The encoder, and how its tokens become one vector: as asked for, else as the model's own recipe says.

    Modules of a recipe beyond pooling and normalizing are not part of it.
    """
    loading = loading or Loading()
    recipe = _recipe(model, loading)
    encoder = open_encoder(model, loading)
    own = recipe is not None and layer is None and pooling is None
    settings = Pooling(
        parse_layers(-1 if layer is None else layer, encoder.layers),
        pooling or (recipe.pooling if recipe is not None and layer is None else "mean"),
        normalize=recipe is not None and own and recipe.normalize,
        prompt=prompt or (recipe.prompt if recipe is not None and own else ""),
    )
    return encoder, settings


def _recipe(model: str | os.PathLike[str] | Encoder, loading: Loading) -> Recipe | None:
    if isinstance(model, Encoder) or is_static(Path(model)):
        return None
    return read_recipe(model_folder(os.fspath(model), loading))


def model_folder(name: str, loading: Loading) -> Path:
    """The folder of a model: the one named, or the one that the hub's files were fetched to."""
    if isinstance(path := path_of(name), ObjectPath):
        return fetched(path)
    if os.path.isdir(path):  # noqa: PTH112 - unlike pathlib's, it does not raise for a name that cannot be
        return path
    if os.path.exists(path):  # noqa: PTH110
        raise ModelError(f"{name} is a file, but no word vectors (.vec, .txt, .bin) and no model folder.")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or not name.strip():
        raise MissingModelError(f"There is no model folder {name!r}. Check the path.")
    return _fetch(name, loading)


def _fetch(name: str, loading: Loading) -> Path:
    require("torch", "transformers", extra="models")
    from huggingface_hub import errors, snapshot_download

    patterns = [*_FETCHED, *_WEIGHTS, *(_PICKLED if loading.allow_pickle else ())]
    ignored = ["onnx/*", "openvino/*", "coreml/*", "*/checkpoint*"]
    try:
        with quiet():
            return Path(
                snapshot_download(
                    name, revision=loading.revision, allow_patterns=patterns, ignore_patterns=ignored, etag_timeout=10
                )
            )
    except (OSError, ValueError, RuntimeError) as error:
        # The first that fits: an earlier kind is a special case of a later one.
        reasons = {
            errors.GatedRepoError: "the Hugging Face hub wants a login. Accept its terms there and run hf auth login",
            errors.RepositoryNotFoundError: "the Hugging Face hub has no public model of that name. Check the spelling",
            errors.RevisionNotFoundError: f"its page on the hub has no revision {loading.revision}. Check --revision",
            errors.HFValidationError: "it isn't a valid name on the Hugging Face hub. Check the spelling",
            (errors.LocalEntryNotFoundError, ConnectionError): "the Hugging Face hub can't be reached. Check the name "
            "and your connection",
        }
        reason = next((text for kind, text in reasons.items() if isinstance(error, kind)), None)
        reason = reason or f"it can't be downloaded from the Hugging Face hub ({_short(error)}). Try again"
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        raise MissingModelError(f"There is no local folder {name!r}, and {reason}, or use a local folder.") from error


def _open_transformer(name: str, folder: Path, loading: Loading) -> Encoder:
    require("torch", "transformers", extra="models")
    recipe = read_recipe(folder)
    root = folder if recipe is None else recipe.transformer
    _check_folder(name, root, loading)
    import torch
    from transformers import AutoModel, AutoTokenizer

    from uncone.encoders.head import Head, load_head
    from uncone.encoders.transformer import Transformer

    trusted = {"trust_remote_code": loading.trust_remote_code}
    device = _device(loading.device)
    loaded: dict[str, Any] = {}
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(root, **trusted)
            if loading.fresh is not None:
                model = _fresh_model(root, loading)
            else:
                model, loaded = AutoModel.from_pretrained(
                    root,
                    dtype=getattr(torch, loading.dtype),
                    use_safetensors=None if loading.allow_pickle else True,
                    output_loading_info=True,
                    **trusted,
                )
            model = model.to(device)
    except Exception as error:  # transformers, tokenizers and safetensors each raise their own kinds
        raise _unusable(name, error) from error
    _check_weights(name, loaded)
    files = [path for pattern in (*_WEIGHTS, *_PICKLED, "*.json") for path in root.glob(pattern)]

    def head(encoder: Transformer) -> Head | str | None:
        if loading.fresh is not None:
            return "Its weights were drawn anew, so there is no head that was trained with them."
        with quiet():
            return load_head(encoder, root, use_safetensors=None if loading.allow_pickle else True, **trusted)

    return Transformer(name, model, tokenizer, files, recipe.longest if recipe else None, head, loading.fresh)


def _fresh_model(root: Path, loading: Loading) -> Any:  # noqa: ANN401 - a model of transformers
    """The architecture of a folder with weights drawn anew, as its own code does it before training."""
    import torch
    from transformers import AutoConfig, AutoModel

    trusted = {"trust_remote_code": loading.trust_remote_code}
    config = AutoConfig.from_pretrained(root, **trusted)
    with torch.random.fork_rng(devices=[]):  # whoever calls keeps the state of its own generator
        torch.manual_seed(loading.fresh or 0)
        # Drawn in float32 on the CPU: on any device, and in any precision, they are the same weights.
        model = AutoModel.from_config(config, dtype=torch.float32, **trusted)
    return model.to(getattr(torch, loading.dtype))


def check_fresh(model: str | os.PathLike[str] | Encoder, loading: Loading) -> None:
    """Refuse a model whose weights can't be drawn anew, before anything is measured.

    Raises:
        ModelError: it is no folder of a transformer.
    """
    kind = "a model in memory" if isinstance(model, Encoder) else ""
    if not isinstance(model, Encoder) and is_static(Path(model)):
        kind = "a file of word vectors"
    elif not isinstance(model, Encoder) and _is_elmo(model_folder(os.fspath(model), loading)):
        kind = "an ELMo model"
    if kind:
        name = model.name if isinstance(model, Encoder) else os.fspath(model)
        raise ModelError(
            f"{name} is {kind}, and --control random draws new weights for a transformer by its config.json. Leave it "
            "out, or name the folder of a transformer."
        )


def _is_elmo(folder: Path) -> bool:
    return any(folder.glob("*options.json")) and any(folder.glob("*weights.hdf5"))


def _check_folder(name: str, root: Path, loading: Loading) -> None:
    if not (root / "config.json").is_file():
        raise ModelError(f"The folder {name} has no config.json, so it is no model; name the folder that holds one.")
    if not any((root / file).is_file() for file in _TOKENIZERS):
        raise ModelError(
            f"The folder {name} has no tokenizer (tokenizer.json or a vocabulary). "
            "Save it there too: tokenizer.save_pretrained(folder)."
        )
    safe, pickled = (any(path for pattern in kinds for path in root.glob(pattern)) for kinds in (_WEIGHTS, _PICKLED))
    if not safe and not (pickled and loading.allow_pickle):
        content = "only pickled weights, which can run code when they are loaded" if pickled else "no weights"
        hint = "If you trust it: --allow-pickle." if pickled else "It needs model.safetensors."
        raise ModelError(f"The folder {name} has {content}. {hint}")


def _check_weights(name: str, loaded: dict[str, Any]) -> None:
    """Weights that a file lacks are drawn at random: what is measured then is noise."""
    # A pooler lies behind the last layer, so a checkpoint without one is as good.
    missing = sorted(key for key in loaded.get("missing_keys", ()) if "pooler" not in key)
    wrong = [str(entry[0]) if isinstance(entry, tuple) else str(entry) for entry in loaded.get("mismatched_keys", ())]
    if missing or wrong:
        problem = "lack" if missing else "have other shapes of"
        raise ModelError(
            f"The weights of {name} {problem} {len(missing or wrong)} of the tensors that its config.json asks for, "
            f"such as {(missing or wrong)[0]}: random numbers would be measured. Save the model again."
        )


def _device(device: str) -> str:
    import torch

    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        return next(name for name in ("cuda", "mps", "cpu") if available[name])
    if device not in available or not available[device]:
        have = ", ".join(name for name, yes in available.items() if yes)
        raise OptionError(f"There is no device {device!r} on this machine; there is {have}.")
    return device


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no tables of unexpected weights: a headless checkpoint is what we asked for."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging

    level, bars, fetching = logging.get_verbosity(), logging.is_progress_bar_enabled(), are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
        if not fetching:
            enable_progress_bars()


def _unusable(name: str, error: Exception) -> ModelError:
    reason = _short(error)
    if "trust_remote_code" in str(error):
        return ModelError(f"{name} brings code of its own, which we do not run. If you trust it: --trust-remote-code.")
    return ModelError(f"{name} could not be loaded ({reason}). We need a folder that AutoModel and AutoTokenizer take.")


def _short(error: Any) -> str:  # noqa: ANN401 - any exception
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
