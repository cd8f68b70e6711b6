"""The tables and figures of docs/papers.md that `evaluate --suite papers` makes: bert-mini, with a sentence model.

python -m benchmarks.papers --out FOLDER      needs $UNCONE_DATA, and the models in the folder beside it
python -m benchmarks.papers --page other.md   another page with the same marks

A folder that holds parts of an earlier run is not measured again.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.page import put
from uncone import reproduce
from uncone.data.demo import demo_model
from uncone.report.document import Document, Section
from uncone.report.documents.evaluate.papers import PaperTables
from uncone.report.render.markdown import render

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
MODEL, SUPERVISED = "bert-mini", "all-MiniLM-L6-v2"
COLORS = 96
"""Of a stored picture: points need few, and the files stay small."""


def section_text(document: Document, section: Section) -> str:
    """A section as markdown, without its headings and its source."""
    text = render(replace(document, verdicts=[], warning="", sections=[replace(section, intro="")]))
    return text.partition(f"### {section.title}\n")[2].strip()


def findings(result: PaperTables) -> str:
    return "\n".join(f"* {line}" for line in (result.headline, *result.lines()))


def keep_pictures(result: PaperTables, folder: Path) -> None:
    from PIL import Image

    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as temporary:
        for path in result.save_figures(Path(temporary)):
            if path.suffix == ".png":
                with Image.open(path) as picture:
                    picture.convert("RGB").quantize(COLORS).save(folder / path.name, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("reproduced"))
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    model = Path(os.environ["UNCONE_DATA"]).parent / "models" / MODEL
    with TemporaryDirectory() as temporary:
        supervised = Path(temporary) / SUPERVISED  # the name that the tables show
        supervised.symlink_to(demo_model())
        result = reproduce(model, options.out, supervised=supervised, limit=options.limit)
    document = result.document()
    sections = {section.name: section_text(document, section) for section in document.sections if section.name}
    for name, text in {"findings": findings(result), **sections}.items():
        print(text, end="\n\n")
        put(text, f"papers {name}", options.page)
    keep_pictures(result, options.page.parent / "papers")


if __name__ == "__main__":
    main()
