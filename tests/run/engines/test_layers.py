"""`layers` on engines: workers encode and measure, and the study has the same bytes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import uncone
from uncone.data.texts.texts import SpooledTexts
from uncone.encoders.open import open_encoder
from uncone.errors import FormatError, MissingModelError, ModelError, OptionError, WorkerError
from uncone.run.checkpoint import Checkpoint
from uncone.run.engines.threads import Threads

KILLS = int(os.environ.get("UNCONE_KILLS", "3"))
SETTINGS = (
    {"words": ["go", "school"], "sentences": True, "window": 12, "stride": 8, "no_sinks": True},
    {"rows": "tokens", "keep_duplicates": True, "memory": "700MB"},
    {"rows": "sentences", "pooling": "max"},
    {"deep": True, "deep_sample": 500, "k": 3},
)


@pytest.fixture
def model(tiny_model):
    """The folder of a model beside the texts: paths are relative."""
    shutil.copytree(tiny_model, "model")
    return Path("model")


@pytest.fixture
def texts():
    """Lines of several pools, some of them longer than a window, some of them copies."""
    rng = random.Random(0)
    words = ["the", "text", "go", "school", "zebra", "bank", "a", "river", "12", "home"]
    lines = [" ".join(rng.choices(words, k=rng.choice([2, 3, 5, 12]))) for _ in range(2_100)]
    path = Path("texts.txt")
    path.write_text("\n".join([*lines, *lines[::7]]))
    return path


def study(model, texts, **options):
    """The numbers of a study, of every word and of every sentence, as text."""
    result = uncone.layers(model, texts, split=False, **options)
    words, sentences = result.words, result.sentences
    tables = [] if words is None else [words.selfsim.tolist(), words.mev.tolist(), list(words.words)]
    tables += [] if sentences is None else [sentences.intrasim.tolist(), sentences.texts]
    return json.dumps([result.to_dict(), tables], default=str)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_parts_are_measured_alike_anywhere(settings, model, texts):
    """Through bytes and in any threads: what an engine does, without its processes."""
    expected = study(model, texts, **settings)
    assert study(model, texts, engine=Threads(2), **settings) == expected
    assert study(model, texts, workers=1, **settings) == expected


def test_word_vectors_on_workers(texts):
    """Workers read the vectors of all words of the texts, not only those of their parts."""
    rng = random.Random(1)
    words = sorted({word for line in texts.read_text().splitlines()[:-300] for word in line.split()})
    lines = [f"{word} {' '.join(f'{rng.gauss(1, 1):.4f}' for _ in range(8))}" for word in words]
    Path("words.vec").write_text("\n".join(lines) + "\n")
    assert study("words.vec", texts, engine=Threads(2)) == study("words.vec", texts)


def test_ray_gives_the_same_bytes(model, texts):
    pytest.importorskip("ray")
    for settings in SETTINGS[::3]:
        assert study(model, texts, engine="ray", workers=2, **settings) == study(model, texts, **settings)
    with pytest.raises(WorkerError, match=r"no GPU.*--device cpu"):
        uncone.layers(model, texts, engine="ray", workers=2, device="cuda")


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed"), ("spark", "pyspark")])
def test_engines_give_the_same_bytes(engine, package, model, texts):
    pytest.importorskip(package)
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    for settings in SETTINGS:
        assert study(model, texts, engine=engine, workers=2, **settings) == study(model, texts, **settings)


def workers_of(engine):
    """The processes that are at work for an engine that was started here."""
    import psutil

    if engine == "dask":
        from distributed import default_client

        return [psutil.Process(nanny.pid) for nanny in default_client().cluster.workers.values() if nanny.pid]
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if engine == "ray" and process.cmdline()[:1] == ["ray::_fold"]:
                found.append(process)
            if engine == "spark" and "pyspark.daemon" in process.cmdline() and process.parent().name() != "java":
                found.append(process)
    return found


def kill_one(engine, killed, stop):
    """Kill a worker that has worked for a while, unless the run is over before."""
    import psutil

    began = {}
    while not stop.wait(0.02):
        for process in workers_of(engine):
            with contextlib.suppress(psutil.Error):
                spent = process.cpu_times().user
                if spent - began.setdefault(process.pid, spent) > 0.3:
                    process.send_signal(signal.SIGKILL)
                    killed.append(process.pid)
                    return


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed"), ("spark", "pyspark")])
def test_killed_workers_move_no_digit(engine, package, real_data):
    pytest.importorskip(package)
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    model = real_data.parent / "models" / "bert-tiny"
    expected = study(model, "snli", limit=10_000)
    killed = []
    for _ in range(KILLS):
        stop = threading.Event()
        thread = threading.Thread(target=kill_one, args=(engine, killed, stop))
        thread.start()
        try:
            assert study(model, "snli", limit=10_000, engine=engine, workers=2) == expected
        finally:
            stop.set()
            thread.join()
    assert len(killed) >= KILLS // 2, "runs were over before a worker could be killed"


def test_products_on_one_thread_in_any_process(model, texts):
    """With two threads, torch gives products of five rows other last digits."""
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = study(model, texts, limit=600, batch_size=1)
        torch.set_num_threads(2)
        assert study(model, texts, limit=600, batch_size=1) == expected
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


class Damaging(Threads):
    """Threads, after something has happened to what the workers read, or to the job."""

    def __init__(self, damage):
        super().__init__(1)
        object.__setattr__(self, "damage", damage)

    def groups(self, job, groups, progress=None):
        yield from super().groups(self.damage(job) or job, groups, progress)


def test_what_workers_lack_is_one_line(model, texts, tiny_model):
    def message(error, damage, **options):
        with pytest.raises(error) as caught:
            uncone.layers(model, texts, engine=Damaging(damage), **options)
        text = str(caught.value)
        assert "\n" not in text
        return text

    def other_model(job):
        return replace(job, model=replace(job.model, fingerprint="of another one"))

    def other_torch(job):
        return replace(job, kernel={**job.kernel, "torch": "1.0"})

    moved = message(MissingModelError, lambda job: shutil.move("model", "elsewhere") and None)
    assert moved.startswith(f"A worker can't find the model {Path.cwd()}/model.")
    shutil.move("elsewhere", "model")
    assert "Give all machines the same files" in message(ModelError, other_model)
    assert "instead of 1.0" in message(OptionError, other_torch)
    uncone.layers(model, texts, engine=Damaging(other_torch), any_kernel=True)
    assert "changed" in message(FormatError, lambda job: os.utime("texts.txt", ns=(1, 1)))


def test_what_cannot_be_sent_is_refused(model, texts):
    with pytest.raises(OptionError, match=r"in memory.*Give its folder"):
        uncone.layers(open_encoder(model), texts, engine=Threads(1))
    piped = SpooledTexts(io.BytesIO(texts.read_bytes()), "standard input")
    with pytest.raises(OptionError, match=r"standard input can only be read by this process.*--engine"):
        uncone.layers(model, piped, engine=Threads(1))
    assert study(model, texts.read_text().splitlines()[:600], engine=Threads(1))


def test_a_model_is_loaded_once(model, texts, monkeypatch):
    from uncone.run import models

    opened = []
    monkeypatch.setattr(models, "open_encoder", lambda *names: opened.append(names) or open_encoder(*names))
    uncone.layers(model, texts, engine=Threads(2))
    assert len(opened) == 1


class Interrupted(Threads):
    """Threads that are interrupted after the first part, or only tell of the parts that they measured."""

    parts = ()

    def groups(self, job, groups, progress=None):
        object.__setattr__(self, "parts", [part for group in groups for part in group])
        for number, result in enumerate(super().groups(job, groups, progress)):
            if number == self.workers:
                raise KeyboardInterrupt
            yield result


def test_a_run_goes_on_here_or_there(model, texts, monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", True)
    expected = study(model, texts, no_sinks=True, keep_duplicates=True)
    kept = {"state": "state", "no_sinks": True, "keep_duplicates": True}
    with pytest.raises(KeyboardInterrupt):
        study(model, texts, engine=Interrupted(1), **kept)
    assert study(model, texts, resume=True, **kept) == expected

    counts = []

    def interrupt(step, amount, total):
        counts.append(amount if step == "encoding" else 0)
        if sum(counts) > 1_000:  # in the middle of the second part
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(model, texts, progress=interrupt, **kept)
    engine = Interrupted(9)
    assert study(model, texts, engine=engine, resume=True, **kept) == expected
    assert engine.parts == [(256, 2304), (2304, 2400)]
