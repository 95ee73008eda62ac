#!/usr/bin/python3
"""Spends a user's coins, as a game's server does, and says what is left.

    DATABASE_URL=postgresql://app-server@db/entitlements ./spend.py user-17 coins 30 order-4711

The reference names this one debit: a request that is repeated, by the app or by this program after a
lost connection, spends once. Two requests at the same time never spend the same coin.

Exit codes: 0 spent, the balance is printed; 1 the balance does not suffice, nothing is spent; 64
wrong arguments, or no DATABASE_URL; 65 the reference stands for another entry or a reversed one, a
fault of the caller; 69 the database is away; 70 any other fault.

Needs Debian's python3-psycopg2, and the role app-server of `pipeline grants`.
"""

import os
import sys
import time
import traceback

import psycopg2

ATTEMPTS_MAX = 5
REFUSALS = {
    "22023": (64, "a debit is more than zero and has a reference"),
    "LE001": (1, "the balance does not suffice"),
    "LE002": (65, "this reference stands for another entry already"),
    "LE003": (65, "the debit of this reference was reversed"),
}


def spend(debit):
    """Returns the balance that is left."""
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT ledger_debit(%s, %s, %s, %s)", debit)
            return cursor.fetchone()[0]
    finally:
        connection.close()


def main():
    arguments = sys.argv[1:]
    if len(arguments) != 4 or not arguments[2].isdecimal() or "DATABASE_URL" not in os.environ:
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    user, currency, amount, reference = arguments
    for attempt in range(ATTEMPTS_MAX):
        try:
            print(spend([user, currency, int(amount), reference]))
            return
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            # Whether it was spent is not known. The reference makes it safe to ask again.
            time.sleep(0.2 * 2**attempt)
        except psycopg2.Error as error:
            if error.pgcode not in REFUSALS:
                raise
            code, text = REFUSALS[error.pgcode]
            print(text, file=sys.stderr)
            sys.exit(code)
    print("the database is away", file=sys.stderr)
    sys.exit(69)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # Python itself would end with 1, which means too low a balance
        traceback.print_exc()
        sys.exit(70)
