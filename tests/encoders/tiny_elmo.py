"""A tiny random ELMo in the original format, for tests."""

from __future__ import annotations

import json

import h5py
import numpy as np

LSTM = {
    "use_skip_connections": True,
    "projection_dim": 5,
    "cell_clip": 0.4,
    "proj_clip": 0.3,
    "dim": 7,
    "n_layers": 2,
}
CHAR_CNN = {
    "activation": "relu",
    "filters": [[1, 3], [2, 4], [4, 6]],
    "n_highway": 2,
    "embedding": {"dim": 4},
    "n_characters": 262,
    "max_characters_per_token": 12,
}


def write_tiny_elmo(folder, *, seed=0, name="", **overrides):
    """Write `{name}options.json` and `{name}weights.hdf5`; overrides are keys of lstm or char_cnn.

    Returns the options and, under "weights", every array by its key in the file.
    """
    unknown = overrides.keys() - LSTM.keys() - CHAR_CNN.keys()
    assert not unknown, f"no such options: {unknown}"
    options = {
        "lstm": LSTM | {key: value for key, value in overrides.items() if key in LSTM},
        "char_cnn": CHAR_CNN | {key: value for key, value in overrides.items() if key in CHAR_CNN},
    }
    weights = _weights(options["lstm"], options["char_cnn"], np.random.default_rng(seed))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}options.json").write_text(json.dumps(options))
    with h5py.File(folder / f"{name}weights.hdf5", "w") as file:
        for key, array in weights.items():
            file[key] = array
    return options | {"weights": weights}


def _weights(lstm, cnn, rng):
    def random(*shape):
        return rng.normal(scale=0.6, size=shape).astype(np.float32)

    embedding, projection, cells = cnn["embedding"]["dim"], lstm["projection_dim"], lstm["dim"]
    total = sum(number for _, number in cnn["filters"])
    weights = {"char_embed": random(261, embedding)}
    for i, (width, number) in enumerate(cnn["filters"]):
        weights[f"CNN/W_cnn_{i}"] = random(1, width, embedding, number)
        weights[f"CNN/b_cnn_{i}"] = random(number)
    for k in range(cnn["n_highway"]):
        for part in ("carry", "transform"):
            weights[f"CNN_high_{k}/W_{part}"] = random(total, total)
            weights[f"CNN_high_{k}/b_{part}"] = random(total)
    weights["CNN_proj/W_proj"] = random(total, projection)
    weights["CNN_proj/b_proj"] = random(projection)
    for way in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            weights[f"{cell}/W_0"] = random(2 * projection, 4 * cells)
            weights[f"{cell}/B"] = random(4 * cells)
            weights[f"{cell}/W_P_0"] = random(cells, projection)
    return weights
