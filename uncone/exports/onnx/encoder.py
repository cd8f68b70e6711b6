"""The encoder in front of a repair, as one ONNX graph: token ids and their mask to repaired vectors."""

from __future__ import annotations

import io
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from uncone.errors import require

require("torch", "transformers", extra="models")
require("onnx", "onnxruntime", extra="onnx")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn.functional import normalize  # noqa: E402

from uncone.errors import ExportError  # noqa: E402
from uncone.exports.onnx import IR_VERSION, OPSET, PRODUCER, Graph, add_normalize, session  # noqa: E402
from uncone.exports.sentence_transformers.loading import inner_mask, layers_of, load, pooled, special_edges  # noqa: E402
from uncone.exports.vector_spec import Vectors, VectorSpec, vectors_of  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402

__all__ = ["behind_encoder"]

_TOLERANCE = 1e-4
_SHAPES = ((3, 11), (1, 6), (5, 24))
"""Texts and tokens of the batches that a graph is checked on; it is traced with the first."""
_INPUTS = ("input_ids", "attention_mask")


class _Encoder(nn.Module):
    """Ids and mask (b, t) to the vectors that the repair takes, (b, d) or (b * t, d), and the token mask."""

    def __init__(self, model: Any, vectors: Vectors, special: tuple[int, int]) -> None:  # noqa: ANN401
        super().__init__()
        self.model, self.vectors, self.special = model, vectors, special
        self.eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """The chosen layers averaged; pooled, unless the repair is one of tokens."""
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True)
        layers = [out.hidden_states[i] for i in self.vectors.layers or (-1,)]
        states = layers[0] if len(layers) == 1 else torch.stack(layers).mean(dim=0)
        if self.vectors.level == "token":
            inner = inner_mask(attention_mask, *self.special)
            return states.reshape(-1, states.shape[-1]), inner.to(states.dtype)
        output = pooled(states, attention_mask, self.vectors.pooling)
        if self.vectors.normalize:
            output = normalize(output, dim=1)
        return output, attention_mask.to(states.dtype)


def behind_encoder(
    graph: onnx.ModelProto, repair: Repair, model: Path, spec: VectorSpec
) -> tuple[onnx.ModelProto, list[str]]:
    """One graph of `input_ids` and `attention_mask` to `repaired`, with free batch and sequence; and its notes.

    Raises:
        ExportError: the model cannot be put in a graph, or the graph does not give what model and repair give.
    """
    vectors = vectors_of(model, spec)
    if vectors.others:
        raise ExportError(
            f"{model} has modules that we cannot put in a graph ({', '.join(vectors.others)}). "
            "Export the repair alone, without --model, and run it behind the model."
        )
    if vectors.level == "token" and vectors.pooling != "mean":
        raise ExportError(f"A repair of tokens is pooled by their mean in a graph, not by {vectors.pooling!r}.")
    loaded = load(model)
    if loaded.dim != int(repair.n_features_in_):
        raise ExportError(
            f"The repair takes {repair.n_features_in_} dimensions, and {model} gives {loaded.dim}. "
            "Is it another model's?"
        )
    loaded.model.set_attn_implementation("eager")
    vectors = replace(vectors, layers=layers_of(loaded, vectors.layers))
    encoder = _Encoder(loaded.model, vectors, special_edges(loaded.tokenizer))
    fused = _fuse(_trace(encoder), graph, vectors.level == "token", vectors.normalize)
    error = _largest_error(fused, encoder, repair)
    layers = ", ".join(map(str, vectors.layers or ()))
    prompt = f" Put the prompt {vectors.prompt!r} before every text." if vectors.prompt else ""
    return fused, [
        f"It takes input_ids and attention_mask of {model} (int64) and gives layer {layers}, {vectors.pooling} "
        f"pooling, {vectors.level} level, repaired; the tokenizer stays outside.{prompt}",
        f"Checked against the model and the repair: the largest difference is {error:.1e} of the largest value.",
    ]


def _example(vocabulary: int, texts: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Random ids, of which the first text is shorter than the others."""
    generator = torch.Generator().manual_seed(texts)
    ids = torch.randint(min(5, vocabulary - 1), vocabulary, (texts, tokens), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, tokens // 2 + 2 :] = 0
    return ids, mask


def _trace(encoder: _Encoder) -> onnx.ModelProto:
    """The encoder as a graph. By tracing: the newer exporter writes a newer opset, and converts back imperfectly."""
    file = io.BytesIO()
    free = {name: {0: "batch", 1: "sequence"} for name in (*_INPUTS, "mask")}
    rows = "tokens" if encoder.vectors.level == "token" else "batch"
    example = _example(int(encoder.model.config.vocab_size), *_SHAPES[0])
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # deprecation of tracing, and constants in the trace
            torch.onnx.export(
                encoder,
                example,
                file,  # type: ignore[arg-type]  # as its documentation says
                input_names=list(_INPUTS),
                output_names=["vectors", "mask"],
                dynamic_axes={**free, "vectors": {0: rows}},
                opset_version=OPSET,
                dynamo=False,
            )
    except Exception as error:  # models fail to trace in many ways
        reason = " ".join(str(error).split())[:160]
        raise ExportError(
            f"torch cannot put this model in an ONNX graph ({reason}). Export the repair alone, without --model."
        ) from error
    output: onnx.ModelProto = onnx.load_from_string(file.getvalue())
    output.ir_version = IR_VERSION
    return output


def _fuse(encoder: onnx.ModelProto, graph: onnx.ModelProto, by_token: bool, unit: bool) -> onnx.ModelProto:
    prefixed = onnx.compose.add_prefix(
        encoder, "encoder_", rename_inputs=False, rename_outputs=False, rename_edges=True, rename_nodes=True
    )
    outputs = ["repaired", "mask"] if by_token else ["repaired"]
    graph.ir_version = IR_VERSION
    fused = onnx.compose.merge_models(prefixed, graph, io_map=[("vectors", "vectors")], outputs=outputs)
    if by_token:
        m = graph.graph.output[0].type.tensor_type.shape.dim[1].dim_value
        pool = _pooling_graph(m, unit)
        fused = onnx.compose.merge_models(
            onnx.compose.add_prefix(fused, "token_", rename_inputs=False, rename_edges=False, rename_nodes=False),
            pool,
            io_map=[("token_repaired", "rows"), ("token_mask", "kept")],
        )
    fused.ir_version, fused.producer_name = IR_VERSION, PRODUCER
    return fused


def _pooling_graph(m: int, unit: bool) -> onnx.ModelProto:
    """Rows (b * t, m) and a mask (b, t) to the mean over each text (b, m), perhaps at length one."""
    graph = Graph("rows", "pool_")
    shape = graph.add("Concat", graph.add("Shape", "kept"), graph.constant(np.array([m])), axis=0)
    states = graph.add("Reshape", "rows", shape)
    weights = graph.add("Unsqueeze", "kept", graph.constant(np.array([2])))
    # Padding may have become anything, and zero times infinity is not zero.
    padding = graph.add("Equal", weights, graph.constant(0.0))
    states = graph.add("Where", padding, graph.constant(0.0), states)
    total = graph.add("ReduceSum", states, graph.constant(np.array([1])), keepdims=0)
    graph.add("Div", total, graph.add("ReduceSum", "kept", graph.constant(np.array([1])), keepdims=1))
    if unit:
        add_normalize(graph)
    inputs: list[tuple[str, list[str | int | None]]] = [("rows", ["tokens", m]), ("kept", ["batch", "sequence"])]
    return graph.model_of(
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs], "repaired", m
    )


def _largest_error(fused: onnx.ModelProto, encoder: _Encoder, repair: Repair) -> float:
    """The largest difference to the model in torch with the repair in numpy, over batches of several shapes."""
    running, worst = session(fused), 0.0
    for texts, tokens in _SHAPES:
        ids, mask = _example(int(encoder.model.config.vocab_size), texts, tokens)
        with torch.inference_mode():
            vectors, weights = encoder(ids, mask)
            expected = torch.from_numpy(repair.map(vectors.numpy().astype(np.float64)))
            if encoder.vectors.level == "token":
                expected = pooled(expected.reshape(texts, tokens, -1), weights, "mean")
                expected = normalize(expected, dim=1) if encoder.vectors.normalize else expected
        output = running.run(["repaired"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]
        worst = max(worst, float(np.abs(output - expected.numpy()).max() / max(float(expected.abs().max()), 1e-30)))
    if not worst <= _TOLERANCE:
        raise ExportError(
            f"The graph differs from the model and the repair by {worst:.1e} of the largest value, and "
            f"{_TOLERANCE:.0e} is allowed. Export the repair alone, without --model, and run it behind the model."
        )
    return worst
