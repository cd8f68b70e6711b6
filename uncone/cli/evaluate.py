"""`uncone evaluate`: the tables of the literature for any model, raw and repaired, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from uncone.cli.model_options import (
    AllowPickle,
    Data,
    Device,
    Dtype,
    NoCache,
    Pooling,
    Prompt,
    Revision,
    TrustRemoteCode,
    loading_of,
)
from uncone.cli.output import Outputs, deliver, printed, say
from uncone.errors import OptionError

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model folder, a hub name, or a file of word vectors.", show_default=False
        ),
    ],
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="sts12 to sts16, stsb, sickr (also stsb:dev), or a table of pairs. Repeatable. [default: all seven]"
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Another task: sst2, wic, labels:FILE, pairs:FILE (0/1), words:FILE, or a folder of retrieval "
            "(corpus.jsonl, queries.jsonl, qrels.tsv). Repeatable."
        ),
    ] = None,
    separate: Annotated[
        bool, typer.Option("--separate", help="Retrieval: queries get a repair of their own, fitted on them.")
    ] = False,
    suite: Annotated[
        str | None,
        typer.Option(help="papers: make all tables of the cluster-based, flow and whitening papers, into --out."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --suite: the folder; tables there are not made again.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Such as raw,center,droptop:k=15,clustered:k=27;p=0,droptop+whiten,my/repair/,static. "
            "[default: those of the literature]"
        ),
    ] = None,
    fit_on: Annotated[
        str, typer.Option(help="What methods are fitted on: a corpus, a file of texts, or train (of STS-B and SICK).")
    ] = "snli",
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="inductive (fitted on --fit-on), transductive (on the judged texts). Repeatable. [default: inductive]"
        ),
    ] = None,
    layer: Annotated[
        list[str] | None, typer.Option(help="-1 is the last, 1,-1 averages, all sweeps. Repeatable.")
    ] = None,
    pooling: Pooling = None,
    level: Annotated[
        str, typer.Option(help="sentence repairs pooled vectors; token repairs those of subwords, then pools.")
    ] = "sentence",
    prompt: Prompt = "",
    data: Data = None,
    seeds: Annotated[int, typer.Option(help="How often methods that begin at random are tried.")] = 1,
    seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    replicates: Annotated[int, typer.Option(help="How often pairs are drawn for the intervals.")] = 1000,
    no_gmm: Annotated[
        bool, typer.Option("--no-gmm", help="Leave out the mixture of Gaussians, which is slow.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Put the figures of the literature beside ours.")
    ] = False,
    no_cache: NoCache = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-evaluate.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as markdown.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables for a paper, as LaTeX.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write every chart as SVG, PNG and CSV into this folder.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write every figure as a line of a table.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Judge a model by human scores of sentence pairs, raw and after every repair, with paired intervals.

    Example: uncone evaluate model/ --dataset pairs.csv --methods raw
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures)
    read = [model, fit_on, *(dataset or []), *(methods or "").split(","), *(task or [])]
    # A task is read from what follows its colon.
    outputs.check(
        [one for one in (*read, *(one.partition(":")[2] for one in task or [])) if one],
        [("--csv", csv)] if csv is not None else [],
    )
    if seeds < 1 or replicates < 10:
        raise OptionError(f"--seeds {seeds} and --replicates {replicates}: we need at least 1 and 10.")
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code)
    import uncone
    from uncone.cli.progress import progress_bar

    if suite is not None or out is not None:
        if suite != "papers" or out is None:
            raise OptionError("The suite is --suite papers, and its tables go to a folder: --out tables.")
        asked = {"--dataset": dataset, "--task": task, "--methods": methods, "--protocol": protocol, "--layer": layer}
        written = {"--json": json, "--markdown": markdown, "--latex": latex, "--csv": csv, "--figures": figures}
        more = {"--pooling": pooling, "--separate": separate, "--level": level != "sentence", "--seeds": seeds != 1}
        _refuse_beside_suite({**asked, **more, **written})
        common: dict[str, Any] = {"fit_on": fit_on, "prompt": prompt, "data": data, "loading": loading}
        return _suite(model, out, {**common, "replicates": replicates, "cache": not no_cache, "seed": seed})
    with progress_bar("done") as progress:
        found = uncone.evaluate(
            model,
            dataset,
            methods,
            fit_on=fit_on,
            protocols=protocol or ["inductive"],
            layer=None if not layer else layer[0] if len(layer) == 1 else layer,
            pooling=pooling,
            level=level,
            prompt=prompt,
            data=data,
            tasks=task or [],
            separate=separate,
            published=published,
            loading=loading,
            seeds=seeds,
            seed=seed,
            replicates=replicates,
            gmm=not no_gmm,
            cache=not no_cache,
            progress=progress,
        )
    return deliver(found, outputs, {} if csv is None else {csv: found.to_csv()})


def _refuse_beside_suite(options: Mapping[str, object]) -> None:
    given = next((option for option, value in options.items() if value), None)
    if given is not None:
        raise OptionError(f"--suite has its own tables, and writes them all to --out: leave {given} out.")


def _suite(model: str, out: Path, options: dict[str, Any]) -> int:
    """Every table of the papers, one after the other."""
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar("done") as progress:
        for table, found in uncone.reproduce(model, out, progress=progress, **options):
            say(f"{table.title}\n{table.source}\n\n")
            if found is None:
                say(f"  was made before: {out / table.name}.html\n\n")
            else:
                say(printed(found, [out / f"{table.name}.html"]) + "\n")
    return 0
