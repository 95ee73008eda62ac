#!/usr/bin/python3
"""Links a user to the account token of their purchases, as a service does when the user signs in.

    DATABASE_URL=postgresql://account-linker@db/entitlements ./link_at_sign_in.py user-17 TOKEN

The token is the UUID that the service gives to the app for this user, and that the app names as
`appAccountToken` whenever the user buys. A link may be written before the first purchase or long
after it: within a second the purchases are the user's. To write it again changes nothing.

A token that is another user's stays theirs: whoever signs in on a shared device must not take over
what somebody else bought.

Exit codes: 0 linked; 1 another user's; 64 wrong arguments, or no DATABASE_URL; 65 no such token or
user; 69 the database is away; 70 any other fault.

Needs Debian's python3-psycopg2, and the role account-linker of `pipeline grants`.
"""

import os
import sys
import traceback
import uuid

import psycopg2
from psycopg2 import errors


def link(connection, user, token):
    """Returns the user that the token belongs to from now on."""
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO account_links (kind, key, user_id) VALUES ('account_token', %s, %s)"
            " ON CONFLICT (key, kind, environment, bundle_id) DO NOTHING",
            [token, user],
        )
        cursor.execute(
            "SELECT user_id FROM account_links WHERE (key, kind) = (%s, 'account_token')"
            " AND environment = '' AND bundle_id = ''",
            [token],
        )
        return cursor.fetchone()[0]


def main():
    if len(sys.argv) != 3 or "DATABASE_URL" not in os.environ:
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    user = sys.argv[1]
    try:
        token = str(uuid.UUID(sys.argv[2]))
        owner = link(psycopg2.connect(os.environ["DATABASE_URL"]), user, token)
    except (ValueError, errors.CheckViolation):
        print("a token is a UUID, and a user 1 to 255 bytes of text", file=sys.stderr)
        sys.exit(65)
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        print(f"the database is away: {error}", file=sys.stderr)
        sys.exit(69)
    print("linked" if owner == user else "the token belongs to another user")
    sys.exit(0 if owner == user else 1)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # Python itself would end with 1, which means another user's
        traceback.print_exc()
        sys.exit(70)
