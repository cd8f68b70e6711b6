"""`uncone layers`: the geometry of a language model, layer by layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver
from uncone.errors import OptionError
from uncone.verbs.options.layers import LayersOptions, LayersOutput

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerComparison, LayerStudy

__all__ = ["layers"]


def layers(
    *models: Annotated[
        str,
        Parameter(
            help="A model folder, a name on the Hugging Face hub, a file of word vectors (.vec, .txt, .bin), or a "
            "folder with ELMo. Several are compared."
        ),
    ],
    corpus: Annotated[
        list[str],
        Parameter(
            help="Texts: .txt (a line is a text), .csv, .tsv, .jsonl, .parquet, - for standard input, or snli, "
            "wikitext2, ptb, sts. Several are compared.",
            negative_iterable=(),
        ),
    ],
    options: LayersOptions,
    output: LayersOutput,
) -> int:
    """Measure.

    Anisotropy baseline, self-similarity, intra-sentence similarity, maximum explainable variance, S_inter and S_intra,
    isotropy, rogue dimensions and norms, with intervals, out of one forward pass; no vector is stored.

    Example: uncone layers model/ --corpus texts.txt
    """
    if not models:
        raise OptionError("Name a model: a folder, a name on the hub, or a file of word vectors.")
    corpus = [part.strip() for one in corpus for part in one.split(",")]
    check_outputs(output, [*corpus, *models])
    output.check_tables(len(models) * len(corpus))
    if corpus.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    from uncone.cli.progress import progress_bar
    from uncone.run.checkpoint import runs_folder
    from uncone.verbs.layers import compare_layers
    from uncone.verbs.layers import layers as run

    result: LayerStudy | LayerComparison
    with progress_bar("texts") as progress:
        others = {"state": options.state or runs_folder(), "keep_state": True, "progress": progress}
        options = options.cast(LayersOptions, **others, sentences=output.sentence_table is not None)
        if len(models) == 1 and len(corpus) == 1:
            result = run(models[0], corpus[0], options=options)
        else:
            result = compare_layers(models, corpus, options=options)
    code = deliver(result, output, _tables(result.parts[0], output))
    for study in result.parts:
        study.settle()
    return code


def _tables(study: LayerStudy, output: LayersOutput) -> dict[Path, str | bytes]:
    """The tables of words and sentences, by the file they go to."""
    from uncone.report.documents.layers.words import sentence_table, word_table

    written = ((output.word_table, word_table), (output.sentence_table, sentence_table))
    return {path: table(study, path) for path, table in written if path is not None}
