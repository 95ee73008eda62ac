"""Says what Apple's own library thinks of signed bodies.

Usage: apple_library.py ROOT BUNDLE_ID APP_APPLE_ID < bodies > verdicts
  ROOT is the one root certificate, in DER. Each line of standard input is a kind (transaction,
  renewalInfo, appTransaction or notification), a space, and the JWS in base64; each line of
  standard output is OK, or the status of the library's exception. A body is good where it is good
  for Production or for the Sandbox, as one backend gets both.
"""

import base64
import sys

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import (
    SignedDataVerifier,
    VerificationException,
    VerificationStatus,
)

OF_ANOTHER_APP = (VerificationStatus.INVALID_APP_IDENTIFIER, VerificationStatus.INVALID_ENVIRONMENT)


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        root = file.read()
    verifiers = [
        SignedDataVerifier([root], False, environment, sys.argv[2], int(sys.argv[3]))
        for environment in (Environment.PRODUCTION, Environment.SANDBOX)
    ]
    for line in sys.stdin:
        kind, encoded = line.rstrip("\n").split(" ")
        token = base64.b64decode(encoded).decode("latin-1")
        print(verdict(verifiers, kind, token))


def verdict(verifiers, kind, token) -> str:
    status = None
    for verifier in verifiers:
        method = {
            "transaction": verifier.verify_and_decode_signed_transaction,
            "renewalInfo": verifier.verify_and_decode_renewal_info,
            "appTransaction": verifier.verify_and_decode_app_transaction,
            "notification": verifier.verify_and_decode_notification,
        }[kind]
        try:
            method(token)
            return "OK"
        except VerificationException as error:
            status = error.status.name
            if error.status not in OF_ANOTHER_APP:
                return status
        except Exception as error:  # a payload that the library's models do not take
            return "EXCEPTION " + type(error).__name__
    return status


if __name__ == "__main__":
    main()
