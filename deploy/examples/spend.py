#!/usr/bin/python3
"""Spends a user's coins, as a game's server does, and says what is left.

    DATABASE_URL=postgresql://app-server@db/entitlements ./spend.py user-17 coins 30 order-4711

The reference names this one debit: a request that is repeated, by the app or by this program after a
lost connection, spends once. Two requests at the same time never spend the same coin.

Exit codes: 0 spent, the balance is printed; 1 the balance does not suffice, nothing is spent; 65 the
reference stands for another debit already, a fault of the caller; 69 the database is away.

Needs Debian's python3-psycopg2, and the role app-server of `pipeline grants`.
"""

import os
import sys
import time

import psycopg2

ATTEMPTS_MAX = 5
REFUSALS = {
    "LE001": (1, "the balance does not suffice"),
    "LE002": (65, "this reference stands for another debit already"),
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
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    user, currency, amount, reference = sys.argv[1:]
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
    main()
