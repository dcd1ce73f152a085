"""``manage.py catalog``: the execution design of the running code, and whether it keeps its promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from jobops.contracts.catalog.design import Catalog
from jobops.contracts.catalog.document import as_document, lines_as_documents
from jobops.contracts.catalog.markdown import as_markdown
from jobops.contracts.catalog.summary import measured_words
from jobops.contracts.catalog.text import as_text, lines_as_text
from jobops.contracts.catalog.words import plural
from jobops.management.base import Found, OperatorCommand, Usage
from jobops.management.files import write_whole
from jobops.runtime.catalog import read_catalog

FORMATS = ("text", "markdown", "json")
_SUFFIXES = {".json": "json", ".txt": "text"}


class Command(OperatorCommand):
    """Prints the catalog, saves it, or holds it against the lines that every design must hold."""

    help = (
        "Prints the execution design of the running code: its job types with their contracts, fairness, scheduling, "
        "workers, observability, boundaries and open risks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        super().add_arguments(parser)
        parser.add_argument("--format", choices=FORMATS, help="default: text; for --output as the file's name says")
        parser.add_argument(
            "--output", metavar="FILE", help="save it there as the design document: Markdown, unless .txt or .json"
        )
        parser.add_argument(
            "--check", action="store_true", help="exit 1 if a line does not hold, and name each job type that breaks it"
        )
        parser.add_argument(
            "--unmeasured", action="store_true", help="ask neither Redis nor the database: changes with the code only"
        )

    def run(self, options: dict[str, Any]) -> None:
        """Print, save or check."""
        form = _format(options)
        catalog = read_catalog(measure=not options["unmeasured"])
        if catalog.missing and not options["unmeasured"]:
            self.stderr.write(measured_words(catalog))
        if options["output"]:
            write_whole(Path(options["output"]), _written(catalog, form))
            if not options["as_json"]:
                self.stdout.write(f"{options['output']}: written")
        elif not options["check"]:
            self.stdout.write(_written(catalog, form), ending="")
        if options["check"]:
            self._check(catalog, as_json=options["as_json"] or (form == "json" and not options["output"]))

    def _check(self, catalog: Catalog, *, as_json: bool) -> None:
        if as_json:
            self.print_json(lines_as_documents(catalog.lines))
        else:
            self.stdout.write(lines_as_text(catalog.lines))
        if catalog.failed:
            names = "; ".join(line.promise for line in catalog.failed)
            raise Found(f"{plural(len(catalog.failed), 'line does', 'lines do')} not hold: {names}")


def _format(options: dict[str, Any]) -> str:
    """The form to write; raises Usage where the options contradict one another."""
    form: str | None = options["format"]
    if options["as_json"]:
        if form not in (None, "json"):
            raise Usage(f"catalog: --json and --format {form} contradict each other: give one of the two")
        return "json"
    if form is not None or not options["output"]:
        return form or "text"
    return _SUFFIXES.get(Path(options["output"]).suffix.lower(), "markdown")


def _written(catalog: Catalog, form: str) -> str:
    if form == "json":
        return json.dumps(as_document(catalog), ensure_ascii=False, indent=2) + "\n"
    return as_markdown(catalog) if form == "markdown" else as_text(catalog)
