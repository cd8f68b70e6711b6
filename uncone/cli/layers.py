"""`uncone layers`: the geometry of a language model, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uncone.cli.model_options import (
    AllowPickle,
    BatchSize,
    Data,
    Device,
    Dtype,
    Revision,
    TrustRemoteCode,
    loading_of,
)
from uncone.cli.output import Outputs, deliver
from uncone.errors import OptionError

if TYPE_CHECKING:
    from uncone.report.results.layers import LayerComparison, LayerStudy

__all__ = ["layers"]

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="A model folder, a name on the Hugging Face hub, a file of word vectors (.vec, .txt, .bin), or a folder "
        "with ELMo. Several are compared.",
        show_default=False,
    ),
]


def layers(
    models: Models,
    corpus: Annotated[
        list[str],
        typer.Option(
            help="Texts: .txt (a line is a text), .csv, .tsv, .jsonl, .parquet, - for standard input, or snli, "
            "wikitext2, ptb, sts. Repeatable: several are compared."
        ),
    ],
    text: Annotated[
        list[str] | None, typer.Option(help="Column with texts; repeatable, or a,b. Numbers where there is no header.")
    ] = None,
    data: Data = None,
    split: Annotated[
        bool | None,
        typer.Option("--split/--no-split", help="Cut texts into sentences. [default: line files only]"),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Take the first so many texts.")] = None,
    sample: Annotated[int | None, typer.Option(help="Take a seeded sample of so many texts.")] = None,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Measure exact duplicates too: they fake stability.")
    ] = False,
    rows: Annotated[str, typer.Option(help="What a row is: words, tokens, cls or sentences.")] = "words",
    word_pooling: Annotated[str, typer.Option(help="Which subwords make a word: mean, first or last.")] = "mean",
    pooling: Annotated[str, typer.Option(help="For --rows sentences: mean, cls, max or last.")] = "mean",
    kinds: Annotated[
        str | None,
        typer.Option(help="Which rows count: some of word,number,symbol; of tokens also piece. [default: all]"),
    ] = None,
    cased: Annotated[bool, typer.Option("--cased", help="Words that differ in case are different words.")] = False,
    special: Annotated[
        bool | None,
        typer.Option(
            "--special/--no-special", help="Count special tokens. [default: in the mean of a text, not among tokens]"
        ),
    ] = None,
    no_sinks: Annotated[
        bool, typer.Option("--no-sinks", help="Leave out rows over ten times the median norm of their layer.")
    ] = False,
    window: Annotated[int | None, typer.Option(help="Tokens the model sees at once. [default: all it takes]")] = None,
    stride: Annotated[int | None, typer.Option(help="Tokens between two windows. [default: the window]")] = None,
    words: Annotated[str | None, typer.Option(help="Words to follow, such as beverage,go,school.")] = None,
    mev_words: Annotated[int, typer.Option(help="Words drawn at random for MEV.")] = 100,
    min_contexts: Annotated[int, typer.Option(help="Texts a word has to stand in for self-similarity.")] = 5,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="Measure an eighth, a quarter and half of the texts too, to see what has settled."
        ),
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Look behind the cone: clusters, local dimension, hubs, word frequency, manifolds.",
        ),
    ] = False,
    k: Annotated[
        int | None, typer.Option("--k", help="With --deep: clusters per layer. [default: by silhouette, 1 to 15]")
    ] = None,
    frequency: Annotated[
        str, typer.Option(help="With --deep: how often a word occurs, by corpus, tokenizer (its order) or wordfreq.")
    ] = "corpus",
    deep_sample: Annotated[int, typer.Option(help="With --deep: rows kept per layer.")] = 50_000,
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-layers.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the curves as markdown tables.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for each figure as SVG and PNG, with its CSV.")] = None,
    word_table: Annotated[
        Path | None, typer.Option(help="Write every word with its curves, as .csv or .parquet.")
    ] = None,
    sentence_table: Annotated[
        Path | None, typer.Option(help="Write every sentence with its IntraSim, as .csv or .parquet.")
    ] = None,
    batch_size: BatchSize = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory to stay within. [default: 2GB, with --deep 4GB]", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses words, rows and texts that are sampled.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with this command where it was interrupted.")] = False,
    state: Annotated[Path | None, typer.Option(help="Where runs are saved. [default: the user's cache]")] = None,
    save_every: Annotated[float, typer.Option(help="Seconds between two saves.")] = 30.0,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Measure every layer of a language model: how crowded it is, how much a word depends on its context.

    Anisotropy baseline, self-similarity, intra-sentence similarity, maximum explainable variance, S_inter and S_intra,
    isotropy, rogue dimensions and norms, with intervals, out of one forward pass; no vector is stored.

    Example: uncone layers model/ --corpus texts.txt
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures)
    named = (("--word-table", word_table), ("--sentence-table", sentence_table))
    tables = [(option, path) for option, path in named if path is not None]
    outputs.check([*corpus, *models], tables)
    _check_tables(tables, len(models) * len(corpus))
    if corpus.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code)
    import uncone
    from uncone.cli.progress import progress_bar
    from uncone.run.checkpoint import runs_folder

    with progress_bar("texts") as progress:
        options: dict[str, Any] = {
            "text": text or [],
            "data": data,
            "split": split,
            "limit": limit,
            "sample": sample,
            "keep_duplicates": keep_duplicates,
            "rows": rows,
            "word_pooling": word_pooling,
            "pooling": pooling,
            "kinds": kinds,
            "cased": cased,
            "special": special,
            "no_sinks": no_sinks,
            "window": window,
            "stride": stride,
            "words": [word.strip() for word in (words or "").split(",") if word.strip()],
            "mev_words": mev_words,
            "min_contexts": min_contexts,
            "curve": curve,
            "deep": deep,
            "k": k,
            "frequency": frequency,
            "deep_sample": deep_sample,
            "sentences": sentence_table is not None,
            "batch_size": batch_size,
            "memory": memory,
            "seed": seed,
            "resume": resume,
            "state": state or runs_folder(),
            "save_every": save_every,
            "keep_state": True,
            "loading": loading,
            "progress": progress,
        }
        found: LayerStudy | LayerComparison
        if len(models) == 1 and len(corpus) == 1:
            found = uncone.layers(models[0], corpus[0], **options)
        else:
            found = uncone.compare_layers(models, corpus, **options)
    code = deliver(found, outputs, _table_files(found.parts[0], word_table, sentence_table))
    for study in found.parts:
        study.settle()
    return code


def _table_files(study: LayerStudy, words: Path | None, sentences: Path | None) -> dict[Path, str | bytes]:
    """The tables of words and sentences, by the file they go to."""
    from uncone.report.tables import sentence_table, word_table

    written = ((words, word_table), (sentences, sentence_table))
    return {path: table(study, path) for path, table in written if path is not None}


def _check_tables(tables: Sequence[tuple[str, Path]], studies: int) -> None:
    """Refuse tables of several studies, and names that do not say their format."""
    from uncone.report.tables import table_format

    for option, path in tables:
        if studies > 1:
            raise OptionError(f"{option} writes one study, and this command makes {studies}. Run them one by one.")
        table_format(path)
