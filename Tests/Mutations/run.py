#!/usr/bin/env python3
"""Runs the tests without each check in turn and shows which test notices that it is gone.

run.py ROOT BINARY ROWS: deploy/mutate.sh calls it. ROOT has the sources that apply.py changed,
BINARY their tests, and ROWS the lines of apply.py's output that are asked for.

The tests that the rules in Tests/TidyTests name for a check run first, all others only where these
pass. A row is noticed where a test fails or crashes without the check, does so again when it runs
alone, and passes alone with the check in place. A time-out is no answer, and neither is a failure
that does not come again.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

# These take longer than all the others together, and no check needs them.
SKIPPED = [
    "Differential|(every|one) flipped bit|a flipped bit is refused|flipped bits of",
    "makes? no difference|costs about as much",
    "a receipt with a costly certificate is refused|records up to the limit of the body",
]
# More than a test waits for what never comes (Duration.hopeless).
SECONDS_MAX = 900

Row = namedtuple("Row", "name number tests")
# `end` is passed, failed, crashed or timed out; `test` is the one that was running then; `count`
# says how many passed.
Outcome = namedtuple("Outcome", "end test count")
running = set()


def end(process):
    """Ends a run at once, with the servers of its tests, which are in its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def interrupted(*_):
    for process in list(running):
        end(process)
    os._exit(130)


def run(binary, number, pattern):
    """Runs the tests whose names match, without the check of this number, to the first failure."""
    options = ["--testing-library", "swift-testing", "--no-parallel", "--filter", pattern]
    for skipped in SKIPPED:
        options += ["--skip", skipped]
    process = subprocess.Popen(
        [binary, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"MUTATION": str(number), "PGOPTIONS": f"-c mutation.number={number}"},
        errors="replace",
        start_new_session=True,
    )
    running.add(process)
    late = threading.Event()

    def expire():
        late.set()
        end(process)

    timer = threading.Timer(SECONDS_MAX, expire)
    timer.start()
    outcome, test = None, ""
    for line in process.stdout:
        if match := re.match("◇ Test (.*) started", line):
            if match[1] != "run" and not match[1].startswith("case passing"):
                test = match[1]
        elif match := re.match("✘ Test (.*?) recorded an issue", line):
            outcome = Outcome("failed", match[1], 0)
            break
        elif match := re.match(r"✔ Test run with (\d+) test", line):
            outcome = Outcome("passed", "", int(match[1]))
            break
    timer.cancel()
    end(process)
    process.wait()
    running.discard(process)
    return outcome or Outcome("timed out" if late.is_set() else "crashed", test, 0)


def named(names):
    """A pattern for tests of these names."""
    return "|".join(re.sub("[^A-Za-z0-9 ]", ".", name.strip('"')) for name in names)


def within(tests):
    """A pattern for all tests of a table's targets or suites."""
    return f"^({'|'.join(tests.split())})[./]"


def tests_by_check(rules):
    """The tests of the rule that names a check, by the check's name."""
    found = {}
    for rule in rules.read_text().split("\n\n"):
        lines = rule.splitlines()[1:]
        for checks in [line for line in lines if line.startswith("  broken by: ")]:
            tests = [line.strip() for line in lines if line != checks]
            found.update(dict.fromkeys(checks.split()[2:], tests))
    return found


def verdict(binary, row, of_rule):
    """Whether the row is noticed, and what there is to say of it."""
    everywhere = within(row.tests)
    by_rule = False
    outcome = Outcome("passed", "", 0)
    if of_rule:
        outcome = run(binary, row.number, f"{everywhere}.*({named(of_rule)})")
        by_rule = outcome.end != "passed"
    if not by_rule:
        outcome = run(binary, row.number, everywhere)
    if outcome.end == "passed":
        return False, f"UNNOTICED by {outcome.count} tests"
    if outcome.end == "timed out":
        return False, f"UNCLEAR: {outcome.test} timed out"
    alone = f"{everywhere}.*({named([outcome.test])})"
    again = run(binary, row.number, alone)
    if again.end != outcome.end:
        return False, f"UNCLEAR: {outcome.test} {outcome.end}, and {again.end} when it ran alone"
    checked = run(binary, 0, alone)
    if checked.end != "passed" or checked.count == 0:
        return False, f"UNCLEAR: {outcome.test} {checked.end} with the check in place too"
    others = " (no test of its rule)" if of_rule and not by_rule else ""
    return True, f"{outcome.test} {outcome.end}{others}"


def main(root, binary, lines):
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, interrupted)
    start = monotonic()
    rows = [Row(*line.split("\t")) for line in lines.read_text().splitlines()]
    of_rule = tests_by_check(root / "Tests/TidyTests/Rules/rules.txt")
    for tests in sorted({row.tests for row in rows}):
        outcome = run(binary, 0, within(tests))
        print(f"all checks in place: {tests}: {outcome.count} tests {outcome.end}", flush=True)
        if outcome.end != "passed" or outcome.count == 0:
            sys.exit(f"the tests have to pass with all checks in place: {outcome.test}")
    noticed, missed = [], []

    def judge(row):
        print(f"         {row.name} ...", flush=True)
        began = monotonic()
        is_noticed, text = verdict(binary, row, of_rule.get(row.name, []))
        (noticed if is_noticed else missed).append(row.name)
        done, seconds = len(noticed) + len(missed), round(monotonic() - began)
        print(f"{done:3}/{len(rows)}  {row.name}: {text}, {seconds} s", flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(judge, rows))
    print(
        f"{len(rows)} rows, {len(noticed)} noticed, {round(monotonic() - start)} s;",
        f"not noticed: {', '.join(sorted(missed)) or 'none'}",
    )
    sys.exit(1 if missed else 0)


main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
