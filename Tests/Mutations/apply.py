#!/usr/bin/env python3
"""Makes every mutation of the tables beside this file a switch in a copy of the sources.

apply.py ROOT changes the sources below ROOT, which has to be a copy: deploy/mutate.sh calls it. It
prints a line for each row, with tabs between its name, its number, which the variable MUTATION
turns on, and the tests that have to notice it.

A row of a table is

    name path/of/a/file.swift or path/of/a/migration.sql
        text that is found once, with the part that changes between « and »
        => what takes the place of that part

with as many pairs of text and replacement as the row needs. White space in the text and in the file
is not compared. The part is an expression; where the replacement is in braces the part is a statement,
and {} leaves it out; where it is in backticks the part is one line of a text, such as SQL. In a
migration both are expressions in SQL, and a setting of the session chooses. `tests` sets the test targets, or filters of them, for the rows below it.
"""

import re
import sys
from pathlib import Path

SWITCH = """\
import Glibc

/// The number of the mutation that the environment names; 0 where it names none.
private let mutationInForce: Int =
    unsafe getenv("MUTATION").flatMap { Int(unsafe String(cString: $0)) } ?? 0

func isMutated(_ number: Int) -> Bool { mutationInForce == number }
"""


def rows(folder):
    """Yields name, tests, path and pairs of text and replacement of each row."""
    for table in sorted(folder.glob("*.txt")):
        tests, row = "", None
        for line in table.read_text().splitlines() + ["end end"]:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if not line[0].isspace():
                if row:
                    yield row
                row = None
                if words[0] == "tests":
                    tests = " ".join(words[1:])
                else:
                    row = (words[0], tests, words[1], [])
            elif words[0] == "=>":
                row[3][-1][1] = line.strip()[2:].strip()
            else:
                row[3].append([line.strip(), ""])


def found(name, source, text):
    """The range of the marked part in the source, where the text is found exactly once."""
    before, part, after = re.fullmatch("(.*?)«(.*)»(.*)", text).groups()

    def flexible(piece):
        return r"\s*".join(re.escape(sign) for sign in piece if not sign.isspace())

    pattern = rf"{flexible(before)}\s*({flexible(part)})\s*{flexible(after)}"
    matches = list(re.finditer(pattern, source))
    if len(matches) != 1:
        sys.exit(f"{name}: the text is found {len(matches)} times: {text}")
    return matches[0].span(1)


def switched(path, number, part, replacement):
    if path.endswith(".sql"):
        mutated = f"current_setting('mutation.number', true) = '{number}'"
        return f"(CASE WHEN {mutated} THEN ({replacement}) ELSE ({part}) END)"
    if replacement.startswith("`"):
        return f'\\(isMutated({number}) ? "{replacement.strip("`")}" : "{part}")'
    if not replacement.startswith("{") or not replacement.endswith("}"):
        return f"(isMutated({number}) ? ({replacement}) : ({part}))"
    return f"if isMutated({number}) {replacement} else {{ {part} }}"


def target(path):
    """The folder of the target that a source file belongs to."""
    parts = Path(path).parts
    return Path(*parts[: 4 if parts[2] == "Stages" else 3])


def main(root):
    changes, targets = {}, set()
    for number, (name, tests, path, pairs) in enumerate(rows(root / "Tests/Mutations"), 1):
        print(name, number, tests, sep="\t")
        source = (root / path).read_text()
        if path.endswith(".swift"):
            targets.add(target(path))
        for text, replacement in pairs:
            places = changes.setdefault(path, {})
            places.setdefault(found(name, source, text), []).append((number, name, replacement))
    for path, places in changes.items():
        source = (root / path).read_text()
        following = len(source)
        for (start, end), mutations in sorted(places.items(), reverse=True):
            part = source[start:end]
            for number, name, replacement in mutations:
                if end > following:
                    sys.exit(f"{name}: another mutation changes a part of the same text")
                part = switched(path, number, part, replacement)
            source = source[:start] + part + source[end:]
            following = start
        (root / path).write_text(source)
    for folder in targets:
        (root / folder / "Mutation.swift").write_text(SWITCH)


main(Path(sys.argv[1]))
