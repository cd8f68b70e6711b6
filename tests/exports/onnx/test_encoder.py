"""One graph from token ids to repaired vectors, against the source of vectors that every verb uses."""

import json
import shutil

import numpy as np
import onnxruntime
import pytest

from uncone.data.texts.texts import ListTexts
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder, sentence_source
from uncone.errors import ExportError
from uncone.exports.export import export
from uncone.repairs.chain import Chain
from uncone.repairs.clustered import Clustered
from uncone.repairs.dimensions import Normalize
from uncone.repairs.spectral import DropTop, Whiten


def vectors(model, texts, **asked) -> np.ndarray:
    return np.concatenate([np.array(rows.vectors) for rows in sentence_source(ListTexts(texts), model, **asked).read()])


def run(path, model, texts, batch: int = 128) -> np.ndarray:
    """The graph on texts in their order, padded to the longest of a batch: sizes and lengths vary."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session, tokenizer = onnxruntime.InferenceSession(str(path), options), open_encoder(model).tokenizer
    outputs = []
    for start in range(0, len(texts), batch):
        encoded = tokenizer(texts[start : start + batch], padding=True, return_tensors="np")
        inputs = {name: encoded[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
        outputs.append(session.run(["repaired"], inputs)[0])
    return np.concatenate(outputs)


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (lambda: Chain([DropTop(k=3), Whiten(dim=16), Normalize()]), {}),
        (lambda: Clustered(k=4, p=2), {"pooling": "max"}),
        (lambda: DropTop(k=3), {"layer": "1,-1"}),
        (lambda: DropTop(k=3), {"layer": 1, "pooling": "last"}),
        (lambda: DropTop(k=3), {"layer": 0}),
        (lambda: DropTop(k=3), {"pooling": "cls"}),
    ],
    ids=["chain", "clustered-max", "mean-of-layers", "last", "embeddings", "cls"],
)
def test_ids_to_repaired_vectors(model, texts, tmp_path, close, make, asked):
    raw = vectors(model, texts, **asked)
    repair = make().fit(raw)
    result = export(repair, "onnx", tmp_path / "whole.onnx", model=model, **asked)
    assert any("input_ids and attention_mask" in note for note in result.notes)
    close(run(tmp_path / "whole.onnx", model, texts), repair.transform(raw), 1e-4)


def test_repaired_tokens_are_pooled_without_special_ones(model, texts, tmp_path, close):
    encoder = open_encoder(model)
    tokens = []
    for text in texts:
        passage = encoder.passages([text], Window(cut=True))[0][0]
        own = np.flatnonzero(~passage.special)
        tokens.append(encoder.encode([passage]).pooled(-1, own, np.arange(len(own))))
    repair = Clustered(k=4, p=2).fit(np.concatenate(tokens))
    export(repair, "onnx", tmp_path / "whole.onnx", model=model, level="token")
    expected = np.stack([repair.transform(states).mean(axis=0) for states in tokens])
    close(run(tmp_path / "whole.onnx", model, texts), expected, 1e-4)


def test_a_recipe_with_more_modules_is_refused(model, texts, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(model, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    modules = [("", "Transformer"), ("1_Dense", "Dense")]
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    repair = DropTop(k=3).fit(vectors(model, texts[:100]))
    with pytest.raises(ExportError, match=r"modules that we cannot put in a graph \(Dense\)"):
        export(repair, "onnx", tmp_path / "whole.onnx", model=folder)
    with pytest.raises(ExportError, match="pooled by their mean"):
        export(repair, "onnx", tmp_path / "whole.onnx", model=model, level="token", pooling="max")


def test_another_models_repair(fitted, model, tmp_path):
    with pytest.raises(ExportError, match="takes 24 dimensions"):
        export(fitted("whiten"), "onnx", tmp_path / "whole.onnx", model=model)
    assert not list(tmp_path.iterdir())
