"""Model folders with a repair in them, against the model and the repair; stock ones where there is no uncone."""

import json
import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import uncone
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import open_encoder, sentence_source
from uncone.errors import ExportError
from uncone.exports.export import export
from uncone.repairs.chain import Chain
from uncone.repairs.clustered import Clustered
from uncone.repairs.dimensions import Center, Normalize
from uncone.repairs.flow import Flow
from uncone.repairs.spectral import DropTop, Whiten

READER = """
import json, sys

given = json.load(open(sys.argv[1]))

class NoUncone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "uncone":
            raise ModuleNotFoundError("uncone is not installed here", name=name)

barrier = NoUncone()
sys.meta_path.insert(0, barrier)
import numpy, torch
from sentence_transformers import SentenceTransformer

torch.set_num_threads(1)
properties = {}

def read(folders, trusted):
    for folder in folders:
        model = SentenceTransformer(folder, device="cpu", local_files_only=True, trust_remote_code=trusted)
        numpy.save(folder + ".npy", model.encode(given["texts"], show_progress_bar=False))
        modules = [type(module).__name__ for module in model]
        properties[folder] = modules, str(next(model.parameters()).dtype), model.max_seq_length

read(given["stock"], trusted=False)
assert not any(name.split(".")[0] == "uncone" for name in sys.modules)
sys.meta_path.remove(barrier)
sys.path.append(given["uncone"])
read(given["own"], trusted=True)
json.dump(properties, open(sys.argv[2], "w"))
"""
"""What sentence-transformers makes of folders: of stock ones where uncone cannot be imported, then of ours."""


@pytest.fixture(scope="session")
def texts(texts) -> list[str]:
    return texts[:400]


@pytest.fixture(scope="session")
def unit_model(model, tmp_path_factory) -> Path:
    """A sentence-transformers folder that ends in Normalize, as older versions wrote it."""
    folder = tmp_path_factory.mktemp("unit") / "model"
    shutil.copytree(model, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    width = json.loads((model / "config.json").read_text())["hidden_size"]
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": width, "pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": False}))
    return folder


@pytest.fixture(scope="session")
def half_model(model, tmp_path_factory) -> Path:
    """The model in float16, as many checkpoints are."""
    folder = tmp_path_factory.mktemp("half") / "model"
    shutil.copytree(model, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    weights = {key: value.half() for key, value in load_file(model / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float16"}))
    return folder


def vectors(model, texts, **asked) -> np.ndarray:
    return np.concatenate([np.array(rows.vectors) for rows in sentence_source(ListTexts(texts), model, **asked).read()])


def read_elsewhere(stock, own, texts, place):
    """What sentence-transformers makes of folders in a process of its own."""
    inputs = {"stock": [str(folder) for folder in stock], "own": [str(folder) for folder in own]}
    inputs |= {"texts": texts, "uncone": str(Path(uncone.__file__).parents[1])}
    (place / "given.json").write_text(json.dumps(inputs))
    venv.create(place / "venv", with_pip=False)
    python = str(place / "venv" / "bin" / "python")
    process = subprocess.run(
        [python, "-W", "ignore", "-c", READER, str(place / "given.json"), str(place / "properties.json")],
        capture_output=True,
        text=True,
        cwd=place,
        # A path alone: editable packages, such as ours, are found by .pth files, which are not read there.
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": sysconfig.get_path("purelib")},
    )
    assert process.returncode == 0, process.stderr[-3000:]
    properties = json.loads((place / "properties.json").read_text())
    return {folder.name: (np.load(f"{folder}.npy"), *properties[str(folder)]) for folder in [*stock, *own]}


STOCK = {
    "whiten": (lambda: Whiten(dim=16), {}, ["Dense"]),
    "chain": (lambda: Chain([DropTop(k=2), Whiten(), Normalize()]), {}, ["Dense", "Normalize"]),
    "cut": (Center, {"layer": 1, "pooling": "cls"}, ["Dense"]),
    "embeddings": (lambda: DropTop(k=2), {"layer": 0}, ["Dense"]),
    "last": (Whiten, {"pooling": "last"}, ["Dense"]),
}


@pytest.fixture(scope="session")
def exports(model, unit_model, half_model, texts, tmp_path_factory):
    """Every export: what it should give, the modules that it should have, and what sentence-transformers finds."""
    place = tmp_path_factory.mktemp("exports")
    cases = {name: (model, *case) for name, case in STOCK.items()}
    cases["unit"] = (unit_model, Whiten, {}, ["Normalize", "Dense"])
    cases["unit-other"] = (unit_model, Whiten, {"pooling": "mean"}, ["Dense"])
    # As a saved repair records it: the same pipeline, put together from its parts.
    parts = {"layer": "2", "pooling": "max", "normalize": True, "prompt": "", "level": "sentence"}
    cases["unit-recorded"] = (unit_model, Whiten, {"provenance": parts}, ["Normalize", "Dense"])
    cases["half"] = (half_model, Whiten, {}, ["Dense"])
    expected = {}
    for name, (folder, make, options, ending) in cases.items():
        raw = vectors(folder, texts, **({} if "provenance" in options else options))
        repair = make().fit(raw)
        export(repair, "sentence-transformers", place / name, model=folder, **options)
        expected[name] = repair.transform(raw.astype(np.float64)), ["Transformer", "Pooling", *ending]
    own = export_own_modules(model, texts, place)
    result = read_elsewhere([place / name for name in cases], [place / name for name in own], texts, place)
    return {name: (*value, *result[name]) for name, value in (expected | own).items()}


def export_own_modules(model, texts, place):
    """Repairs that no stock module can do, exported; what each should give, and its modules."""
    raw = vectors(model, texts)
    clustered = Chain([Clustered(k=4, p=2), Normalize()]).fit(raw)
    result = export(clustered, "sentence-transformers", place / "clustered", model=model)
    assert "IT NEEDS UNCONE" in result.notes[0] and "trust_remote_code=True" in result.notes[0]
    flow = Flow(hidden=8, epochs=1).fit(raw)
    export(flow, "sentence-transformers", place / "flow", model=model)
    encoder = open_encoder(model)
    tokens = [states_without_special(encoder, text) for text in texts]
    by_token = DropTop(k=3).fit(np.concatenate(tokens))
    provenance = {"level": "token", "layer": [-1], "pooling": "mean"}
    result = export(by_token, "sentence-transformers", place / "token", model=model, provenance=provenance)
    assert any("Special tokens are left out" in note for note in result.notes)
    pooled = np.stack([by_token.transform(states).mean(axis=0) for states in tokens])
    modules = ["Transformer", "Pooling", "RepairModule"]
    return {
        "clustered": (clustered.transform(raw), modules),
        "flow": (flow.transform(raw), modules),
        "token": (pooled, ["Transformer", "RepairModule"]),
    }


def test_sentence_transformers_gives_the_repaired_vectors(exports, close):
    """In one process for all, because its imports take longest."""
    for name, (expected, expected_modules, vectors, modules, dtype, _) in exports.items():
        assert (name, modules) == (name, expected_modules)
        assert dtype == "torch.float32"
        close(vectors, expected, 1e-4 if "RepairModule" in modules else 3e-5)


def test_the_limit_of_the_folder_is_kept(exports):
    assert exports["unit"][-1] == exports["unit-other"][-1] == 16


def states_without_special(encoder, text) -> np.ndarray:
    """The last layer of one text, by transformers alone."""
    inputs = encoder.tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    special = inputs.pop("special_tokens_mask")[0]
    with torch.inference_mode():
        return encoder.model(**inputs).last_hidden_state[0][special == 0].numpy()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"layer": "1,-1"}, "mean of layers 1, 2"),
        ({"layer": 9}, "no layer 9"),
        ({"layer": "top"}, "not 'top'"),
        ({"level": "token", "pooling": "cls"}, "no CLS vector"),
    ],
)
def test_what_cannot_be_made(model, texts, tmp_path, asked, said):
    repair = Center().fit(vectors(model, texts[:50]))
    with pytest.raises(ExportError, match=said):
        export(repair, "sentence-transformers", tmp_path / "out", model=model, **asked)
    assert not list(tmp_path.iterdir())


def test_another_models_repair(fitted, model, unit_model, tmp_path):
    for folder in (model, unit_model):
        with pytest.raises(ExportError, match="takes 24 dimensions"):
            export(fitted("whiten"), "sentence-transformers", tmp_path / "out", model=folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportError, match=r"no config\.json"):
        export(fitted("whiten"), "sentence-transformers", tmp_path / "out", model=tmp_path / "empty")


def test_pickled_weights_are_not_loaded(model, fitted, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(model, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(Exception, match="pickled weights"):
        export(fitted("whiten"), "sentence-transformers", tmp_path / "out", model=folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_prompt_stands_before_every_text(model, texts, tmp_path):
    repair = Center().fit(vectors(model, texts[:50], prompt="query: "))
    provenance = {"layer": "2", "pooling": "mean", "prompt": "query: "}
    export(repair, "sentence-transformers", tmp_path / "out", model=model, provenance=provenance)
    settings = json.loads((tmp_path / "out" / "config_sentence_transformers.json").read_text())
    assert settings["prompts"][settings["default_prompt_name"]] == "query: "
