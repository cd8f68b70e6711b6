"""A sentence-transformers folder with the repair in it: the model's modules, and behind them ours.

The affine family becomes the stock `Dense` and `Normalize`, so that the folder loads without uncone. The names of
modules are those of sentence-transformers 2 and 3, which later versions read too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uncone.errors import require

require("torch", "transformers", "safetensors", extra="models")

import numpy as np  # noqa: E402
from safetensors import SafetensorError, safe_open  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

from uncone.errors import ExportError  # noqa: E402
from uncone.exports.affine_form import AffineForm, affine_form, check  # noqa: E402
from uncone.exports.export import is_export, sign, temporary_output  # noqa: E402
from uncone.exports.sentence_transformers.loading import cut_after, layers_of, load, special_edges  # noqa: E402
from uncone.exports.sentence_transformers.loading import save as save_model  # noqa: E402
from uncone.exports.vector_spec import Vectors, VectorSpec, vectors_of  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402
from uncone.repairs.saving import save  # noqa: E402

_STOCK = "sentence_transformers.models."
_OURS = "uncone.exports.sentence_transformers.module.RepairModule"
_POOLINGS = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "last": "lasttoken"}
_LEFT_OUT = ("onnx", "openvino", "*.bin", "*.h5", "*.msgpack", "*.ot", "*.onnx", ".git", ".cache")
_TOLERANCE = 1e-3
_LOUD = (
    "IT NEEDS UNCONE: this repair is no Dense, so the folder loads only where uncone is installed, and only with "
    "SentenceTransformer(folder, trust_remote_code=True)."
)


def export_sentence_transformers(repair: Repair, out: Path, *, model: Path, spec: VectorSpec) -> list[str]:
    """Write the model folder with the repair as its last modules; the notes for the user.

    A folder whose own pipeline the repair was fitted on keeps all its modules, its `Normalize` too, and the repair
    comes behind. Otherwise the layer and the pooling that it was fitted on are put in, in float32.

    Raises:
        ExportError: these vectors cannot be made by modules of sentence-transformers.
    """
    vectors = vectors_of(model, spec)
    form = affine_form(repair) if vectors.level == "sentence" else None
    notes: list[str] = []
    with temporary_output(out, folder=True, ours=is_export) as folder, _plain_errors():
        if vectors.own:
            modules, d, special = _copy_modules(model, vectors, folder), _width(model, vectors), (0, 0)
        else:
            modules, d, special = _assemble_modules(model, vectors, folder, notes)
        if d is not None and d != int(repair.n_features_in_):
            raise ExportError(
                f"The repair takes {repair.n_features_in_} dimensions, and {model} gives {d}. Is it another model's?"
            )
        if form is not None:
            modules += _stock(form, folder, len(modules))
            notes.append(_precision(form, repair))
        else:
            modules.append(_module(repair, vectors, special, folder, len(modules)))
            notes.insert(0, _LOUD)
        if vectors.level == "token":
            modules += [_normalize(folder, len(modules))] if vectors.normalize else []
            notes.append("Special tokens are left out of the mean, as they were when the repair was fitted.")
        if vectors.prompt:
            _prompt(folder, vectors.prompt)
        _write(folder / "modules.json", [{"idx": i, "name": str(i), **module} for i, module in enumerate(modules)])
        sign(folder, "sentence-transformers", repair.kind)
    notes.append("Vectors that were stored before were made without the repair: encode them anew.")
    return notes


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn the errors that safetensors and tokenizers raise on a full disk into OSError."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SafetensorError) or type(error) is Exception:
            raise OSError(" ".join(str(error).split())[:160]) from error
        raise


def _copy_modules(model: Path, vectors: Vectors, folder: Path) -> list[dict[str, str]]:
    """All modules of a sentence-transformers folder; weights of another precision become float32."""
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    _writable(folder)
    modules = json.loads((model / "modules.json").read_text(encoding="utf-8"))
    inside = folder / vectors.transformer.relative_to(model)
    if not _is_float32(inside):
        for file in inside.glob("*.safetensors*"):
            file.unlink()
        save_model(load(model).model, inside)
    return [{key: module[key] for key in ("path", "type")} for module in modules]


def _width(model: Path, vectors: Vectors) -> int | None:
    """The output width of a folder's modules, if their files state it."""
    modules = [model / module["path"] for module in json.loads((model / "modules.json").read_text(encoding="utf-8"))]
    for place in modules[:0:-1]:
        if (place / "config.json").is_file():
            settings = json.loads((place / "config.json").read_text(encoding="utf-8"))
            if "out_features" in settings:
                return int(settings["out_features"])
    config = json.loads((vectors.transformer / "config.json").read_text(encoding="utf-8"))
    return int(config["hidden_size"]) if "hidden_size" in config and not vectors.others else None


def _assemble_modules(
    model: Path, vectors: Vectors, folder: Path, notes: list[str]
) -> tuple[list[dict[str, str]], int, tuple[int, int]]:
    """A transformer, cut after the requested layer, and a pooling; their width, and the special tokens."""
    encoder = load(model)
    transformer, tokenizer = encoder.model, encoder.tokenizer
    layers, last = layers_of(encoder, vectors.layers), encoder.layers - 1
    if len(layers) != 1:
        raise ExportError(
            f"The repair was fitted on the mean of layers {', '.join(map(str, layers))}, and sentence-transformers "
            "takes one layer. Export to onnx with --model, or fit it on one layer."
        )
    if layers[0] < last:
        cut_after(transformer, layers[0])
        notes.append(f"The model is cut after layer {layers[0]} of {last}, on which the repair was fitted.")
    save_model(transformer, folder)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    tokenizer.save_pretrained(folder)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": encoder.window, "do_lower_case": False})
    modules = [{"path": "", "type": f"{_STOCK}Transformer"}]
    if vectors.level == "sentence":
        (folder / "1_Pooling").mkdir()
        modes = {f"pooling_mode_{name}": kind == vectors.pooling for kind, name in _POOLINGS.items()}
        _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": encoder.dim, **modes})
        modules.append({"path": "1_Pooling", "type": f"{_STOCK}Pooling"})
        modules += [_normalize(folder, 2)] if vectors.normalize else []
    return modules, encoder.dim, special_edges(tokenizer)


def _stock(form: AffineForm, folder: Path, count: int) -> list[dict[str, str]]:
    """`Dense` with x @ matrix + bias and no activation, and `Normalize` where the repair ends with it."""
    d, m = form.matrix.shape
    place = f"{count}_Dense"
    (folder / place).mkdir()
    settings = {"in_features": d, "out_features": m, "bias": True}
    _write(folder / place / "config.json", {**settings, "activation_function": "torch.nn.modules.linear.Identity"})
    matrix, bias = form.dense
    save_file(
        {"linear.weight": np.ascontiguousarray(matrix.T), "linear.bias": bias}, folder / place / "model.safetensors"
    )
    modules = [{"path": place, "type": f"{_STOCK}Dense"}]
    return [*modules, _normalize(folder, count + 1)] if form.normalize else modules


def _normalize(folder: Path, count: int) -> dict[str, str]:
    place = f"{count}_Normalize"
    (folder / place).mkdir()
    return {"path": place, "type": f"{_STOCK}Normalize"}


def _module(repair: Repair, vectors: Vectors, special: tuple[int, int], folder: Path, count: int) -> dict[str, str]:
    if vectors.level == "token" and vectors.pooling == "cls":
        raise ExportError("At token level special tokens are left out, so there is no CLS vector. Try --pooling mean.")
    place = f"{count}_RepairModule"
    (folder / place).mkdir()
    settings = {"level": vectors.level, "pooling": vectors.pooling, "before": special[0], "after": special[1]}
    _write(folder / place / "config.json", settings)
    save(repair, folder / place / "repair", {})
    return {"path": place, "type": _OURS}


def _precision(form: AffineForm, repair: Repair) -> str:
    """The error of single precision if the mean is not subtracted first, on rows like the data."""
    matrix, bias = form.dense
    error = check(repair, lambda rows: form.unit(rows @ matrix + bias), "Dense, which does not center,", _TOLERANCE)
    return f"Dense in float32 differs from the repair by at most {error:.1e} of the largest value, on made-up rows."


def _prompt(folder: Path, prompt: str) -> None:
    """Make the prompt that the repair was fitted with the default."""
    path = folder / "config_sentence_transformers.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    prompts = settings.get("prompts") or {}
    name = next((name for name, text in prompts.items() if text == prompt), "repaired")
    _write(path, {**settings, "prompts": {**prompts, name: prompt}, "default_prompt_name": name})


def _is_float32(folder: Path) -> bool:
    files = list(folder.glob("*.safetensors"))
    dtypes = set()
    for file in files:
        with safe_open(file, "np") as tensors:
            dtypes |= {tensors.get_slice(key).get_dtype() for key in tensors.keys()}  # noqa: SIM118 - no dict
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = config.get("dtype") or config.get("torch_dtype")
    return bool(files) and dtypes <= {"F32", "I64", "I32"} and stored in (None, "float32")


def _writable(folder: Path) -> None:
    """Make files copied from a read-only folder writable."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))


def _write(path: Path, content: Any) -> None:  # noqa: ANN401 - JSON
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
