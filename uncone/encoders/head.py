"""The language-model head of a Hugging Face model: what makes logits of the states of the last layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.encoders.encoder import Encoder, Passage, Window

if TYPE_CHECKING:
    from uncone.encoders.transformer import Transformer

__all__ = ["Head", "load_head"]

_CAUSAL = ("ForCausalLM", "LMHeadModel", "DoubleHeadsModel")
_MASKED = ("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")
_PROBE = "a few words to see what comes out"
_CLOSE = 1e-3
"""How far, beside their spread, logits may lie from those of the whole model."""
_SAME = 1e-5
"""The same for states that another token should not change."""


class Head:
    """The logits of a state h of the last layer are matrix · t(h) + bias: `matrix` (v, e), `bias` (v,), both float32.

    A `causal` head tells the token after h. Any other tells the token at h, where the text has the token `mask`.
    `transform` makes t(h) (n, e) of states (n, d): a masked head has a layer of its own there. `tied` heads share
    their matrix with the input embeddings.
    """

    def __init__(
        self,
        matrix: Matrix,
        bias: Vector,
        transform: Callable[[Matrix], Matrix] | None = None,
        *,
        causal: bool = True,
        mask: int | None = None,
        tied: bool = False,
    ) -> None:
        self.matrix = matrix
        self.bias = bias
        self.causal = causal
        self.mask = mask
        self.tied = tied
        self._transform = transform

    def transformed(self, states: Matrix) -> Matrix:
        """t(h) of some states of the last layer: from here on all is linear."""
        return states if self._transform is None else self._transform(states)

    def logits(self, states: Matrix) -> Matrix:
        """The logits (n, v) of some states of the last layer."""
        return np.asarray(self.transformed(states) @ self.matrix.T + self.bias)


def load_head(encoder: Transformer, root: Path, **options: Any) -> Head | str | None:  # noqa: ANN401 - of transformers
    """The head that the config of a folder names, with the weights of its files; float32.

    None when the config names none. A text says why a head that it names cannot be used: its weights are not in the
    files and would be drawn at random, or its logits are no product with a matrix.
    """
    architecture = next(iter(getattr(encoder.model.config, "architectures", None) or ()), "")
    causal = architecture.endswith(_CAUSAL) and not architecture.endswith(_MASKED)
    if not causal and not architecture.endswith(_MASKED):
        return None
    try:
        return _load(encoder, root, architecture, causal, options)
    except Exception as error:  # transformers, safetensors and code of other models each raise their own kinds
        reason = " ".join(str(error).split())[:160]
        return f"{_head_name(encoder, architecture)} could not be loaded ({type(error).__name__}: {reason})."


def _load(encoder: Transformer, root: Path, architecture: str, causal: bool, options: dict[str, Any]) -> Head | str:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    mask = None if causal else encoder.tokenizer.mask_token_id
    if not causal and mask is None:
        return f"{_head_name(encoder, architecture)} is not measured: its tokenizer has no mask token."
    kind: Any = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    model, loaded = kind.from_pretrained(root, dtype=torch.float32, output_loading_info=True, **options)
    missing = sorted(key for key in loaded.get("missing_keys", ()) if "pooler" not in key)
    if missing or loaded.get("mismatched_keys"):
        return (
            f"{_head_name(encoder, architecture)} is not in its files ({(missing or ['a tensor'])[0]} lacks), so its "
            "logits are not measured: they would be random."
        )
    model = model.to(encoder.device).eval()
    output = model.get_output_embeddings()
    passage = encoder.passages([_PROBE], Window())[0][0]
    expected = _whole(model, passage)
    weight = output.weight.detach().float()
    bias = torch.zeros(len(weight)) if getattr(output, "bias", None) is None else output.bias.detach().float()
    tied = output.weight.data_ptr() == model.get_input_embeddings().weight.data_ptr()
    head = Head(
        weight.cpu().numpy(), bias.cpu().numpy(), _transform(model, output), causal=causal, mask=mask, tied=tied
    )
    if not np.isfinite(expected).all():
        return f"{_head_name(encoder, architecture)} is not measured: its logits are not finite numbers."
    states = _last(encoder, passage)
    reach = _CLOSE * max(float(expected.std()), 1e-6)
    if not np.allclose(head.logits(states), expected, rtol=_CLOSE, atol=reach):
        return f"{_head_name(encoder, architecture)} is not measured: its logits are not a matrix times the last layer."
    if causal and _sees_ahead(encoder, passage, states):
        return f"{_head_name(encoder, architecture)} is not measured: its states know the tokens that they should tell."
    return head


def _transform(model: Any, output: Any) -> Callable[[Matrix], Matrix]:  # noqa: ANN401 - the model
    """What a model does between its last layer and its output matrix, by taking out what lies before and behind."""
    import torch
    from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

    class FixedStates(torch.nn.Module):
        """In place of all layers: the states that were given."""

        states: torch.Tensor

        def forward(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - called in many ways
            return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=self.states)

    device, layers = output.weight.device, FixedStates()
    path = next(name for name, module in model.named_modules() if module is output)
    parent, _, leaf = path.rpartition(".")
    setattr(model.get_submodule(parent), leaf, torch.nn.Identity())
    setattr(model, model.base_model_prefix, layers)

    def transform(states: Matrix) -> Matrix:
        layers.states = torch.from_numpy(np.ascontiguousarray(states, np.float32)).to(device)[None]
        with torch.inference_mode():
            logits = model(input_ids=torch.zeros(layers.states.shape[:2], dtype=torch.int64, device=device)).logits[0]
        return np.asarray(logits.float().cpu().numpy())

    return transform


def _whole(model: Any, passage: Passage) -> Matrix:  # noqa: ANN401 - the model
    """The logits of a passage as the whole model gives them."""
    import torch

    ids = torch.tensor([list(passage.tokens)], device=model.device)
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
    return np.asarray(logits.float().cpu().numpy())


def _last(encoder: Encoder, passage: Passage) -> Matrix:
    """The states of the last layer of a passage, one per token."""
    tokens = np.arange(passage.length)
    return encoder.encode([passage]).pooled(encoder.layers - 1, tokens, tokens)


def _sees_ahead(encoder: Encoder, passage: Passage, states: Matrix) -> bool:
    """Whether another last token changes the states before it."""
    others: Sequence[Any] = [*passage.tokens[:-1], passage.tokens[len(passage.tokens) // 2]]
    if others[-1] == passage.tokens[-1]:
        others = [*others[:-1], passage.tokens[0]]
    changed = _last(encoder, replace(passage, tokens=others))
    # The same shapes give the same sums: what does not see the token does not change at all.
    return not np.allclose(changed[:-1], states[:-1], rtol=0, atol=_SAME * float(states.std()))


def _head_name(encoder: Encoder, architecture: str) -> str:
    return f"The language-model head of {encoder.name} ({architecture})"
