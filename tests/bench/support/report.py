"""What a benchmark hands out: a table on stdout or one JSON object, and its block of docs/performance.md."""
import argparse
import json

from support import machine
from support.debug_run import ROOT

PAGE = ROOT / "docs/performance.md"


class PageError(ValueError):
    """The page has no place for the block, or more than one."""


def parser(text, rounds=None, steps=None):
    """The options that benchmarks share; `text` is the script's own doc string. None: there is no such option."""
    made = argparse.ArgumentParser(description=text, allow_abbrev=False,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    if rounds is not None:
        made.add_argument("--rounds", type=positive, default=rounds, help=f"interleaved rounds ({rounds})")
    if steps is not None:
        made.add_argument("--steps", type=positive, default=steps, help=f"steps of every run ({steps})")
    made.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    made.add_argument("--quick", action="store_true", help="one short round, to see that everything works")
    made.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return made


def positive(word):
    """An option's value as an integer of at least 1."""
    try:
        value = int(word)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number of at least 1")
    return value


def table(columns, rows):
    """A Markdown table, aligned for a terminal too: the first column to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in [columns, *rows]]
    wide = [max(3, *(len(row[i]) for row in cells)) for i in range(len(columns))]
    shown = ["| " + " | ".join(cell.rjust(width) if i else cell.ljust(width)
                               for i, (cell, width) in enumerate(zip(row, wide))) + " |" for row in cells]
    rule = "|" + "|".join(("-" * (width + 1) + ":") if i else ":" + "-" * (width + 1) for i, width in enumerate(wide)) + "|"
    return "\n".join([shown[0], rule, *shown[1:]])


def replaced(page, name, text):
    """`page` with `text` between the markers of block `name`."""
    begin, end = f"<!-- bench {name}: begin -->", f"<!-- bench {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise PageError(f"the page needs one line '{begin}' and, below it, one line '{end}'")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text.strip()}\n{end}{rest.split(end)[1]}"


def write_block(name, text, page=PAGE):
    """Rewrites one block of docs/performance.md, and nothing else in it."""
    try:
        new = replaced(page.read_text(encoding="utf-8"), name, text)
    except PageError as error:
        raise SystemExit(f"{page}: {error}") from error
    page.write_text(new, encoding="utf-8")


def finish(options, name, text, data, extra_versions=None, warnings=()):
    """Prints the result and, with --write, writes it. `text`: Markdown with the tables; `data`: for --json.

    Machine, versions and warnings are added to both; `data` gets the keys machine, versions and warnings.
    """
    found, made = machine.facts(), {**machine.versions(), **(extra_versions or {})}
    notes = [*machine.lines(found, made), *(f"Warning: {warning}." for warning in warnings)]
    block = text.strip() + "\n\n" + "\n".join(notes)
    if options.json:
        print(json.dumps({"benchmark": name, **data, "machine": found, "versions": made, "warnings": list(warnings)}, indent=1))
    else:
        print(block)
    if options.write:
        write_block(name, block)
