#!/usr/bin/env python3
"""What each user may use, computed a second time, in another language.

The rules are those of Sources/Rules/Entitlements/RULES.md; no line of the Swift code is
shared, so that a mistake has to be made twice to stay unseen.

reference.py scenarios FOLDER        answers each scenario and compares it with what the file says
reference.py defects FOLDER          each scenario has to end otherwise with the mistakes it names
reference.py histories COUNT SEED    prints random scenarios, one a line, with the answers
reference.py refunds COUNT SEED      prints random refund requests, one a line, with the answers to Apple
reference.py answers FILE            prints the answers to the refund requests of a file, one a line
"""

import json
import pathlib
import random
import sys

import refunds
import times
from defects import DEFECTS
from histories import History
from scenarios import Reference, Scenario


def scenarios(folder):
    return [(path.stem, Scenario.read(path)) for path in sorted(pathlib.Path(folder).glob("*.json"))]


def read(answer, expected):
    """An answer in which only the instants count, not how they were written."""
    return {
        # Not each file says how it is held.
        "terms": answer["terms"] if "terms" in expected else None,
        "balances": answer["balances"],
        "entitlements": {
            user: {key: [period(text) for text in texts] for key, texts in keys.items()}
            for user, keys in answer["entitlements"].items()
        },
    }


def period(text):
    start, end = text.split("/")
    return (times.instant(start), None if end == ".." else times.instant(end))


def check_scenarios(folder):
    wrong = 0
    for name, scenario in scenarios(folder):
        answer = Reference().answer(scenario)
        if read(answer, scenario.expected) != read(scenario.expected, scenario.expected):
            wrong += 1
            print(f"{name}: expected {scenario.expected}, found {answer}")
    return wrong


def check_defects(folder):
    wrong = 0
    for name, scenario in scenarios(folder):
        for mistake in scenario.fails:
            for defect in DEFECTS[mistake]:
                answer = defect().answer(scenario)
                if read(answer, scenario.expected) == read(scenario.expected, scenario.expected):
                    wrong += 1
                    print(f"{name}: ends the same with {defect.__name__}")
    return wrong


def print_histories(count, seed):
    generator = random.Random(int(seed))
    for _ in range(int(count)):
        history = History(generator)
        answer = Reference().answer(Scenario(with_answer(history, {"entitlements": {}})))
        print(with_answer(history, answer))
    return 0


def print_refunds(count, seed):
    generator = random.Random(int(seed))
    for _ in range(int(count)):
        print(refunds.text(refunds.Refund(generator).case))
    return 0


def print_answers(file):
    for line in pathlib.Path(file).read_text().splitlines():
        print(json.dumps(refunds.answer(json.loads(line)), separators=(",", ":")))
    return 0


def with_answer(history, answer):
    return history.text[:-1] + "," + json.dumps(answer, separators=(",", ":"))[1:]


COMMANDS = {
    "scenarios": check_scenarios,
    "defects": check_defects,
    "histories": print_histories,
    "refunds": print_refunds,
    "answers": print_answers,
}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.exit(1 if COMMANDS[sys.argv[1]](*sys.argv[2:]) else 0)
