"""Mistakes of other systems, each one rule of the reference broken.

A scenario that names a mistake in `fails` has to end otherwise with it.
"""

import copy

import times
from facts import Facts, account_token, app_transaction, content_hash
from owners import Owners
from projection import Projection
from scenarios import Reference


class ArrivalOrder(Reference):
    """What comes last stands, whenever it was signed."""

    class facts(Facts):
        def __init__(self):
            super().__init__()
            self.count = 0

        def revision(self, event, payload):
            self.count += 1
            return (self.count, b"")


class RefundForEver(Reference):
    """A purchase that was ever refunded stays ended."""

    def events(self, scenario):
        events = copy.deepcopy(scenario.events)
        revoked = {}
        for event in events:
            payload = event.transaction
            if payload is not None:
                key = payload.purchase(event)
                revoked.setdefault(key, payload.get("revocationDate"))
                if revoked[key] is None:
                    revoked[key] = payload.get("revocationDate")
                if revoked[key] is not None:
                    payload.values["revocationDate"] = revoked[key]
        return events


class RevokedSpelling(Reference):
    """A revocation counts only where the notification is called REVOKED."""

    def events(self, scenario):
        return [one for one in scenario.events if one.notification.get("type") != "REVOKE"]


class EarlyDowngrade(Reference):
    """A downgrade ends the higher plan when it is chosen."""

    def events(self, scenario):
        events = copy.deepcopy(scenario.events)
        for event in events:
            if event.notification.get("subtype") == "DOWNGRADE":
                event.transaction.values["expiresDate"] = event.signed
        return events


class UnknownUser(Reference):
    """What comes before its user is linked is dropped."""

    def events(self, scenario):
        linked = {
            one.get("token"): times.instant(one.get("linked", "1970-01-01"))
            for one in scenario.links.links
        }
        return [
            one
            for one in scenario.events
            if one.transaction is None
            or linked.get(one.transaction.get("appAccountToken"), one.signed + 1) <= one.signed
        ]


class EarlierRefundIgnored(Reference):
    """Only the newest transaction of a purchase can be refunded."""

    class projection(Projection):
        def billed(self, subscription, index, periods):
            one = copy.copy(subscription[index])
            if index + 1 < len(subscription):
                one.revoked = None
            changed = subscription[:index] + [one] + subscription[index + 1 :]
            return super().billed(changed, index, self.periods_of(changed))


class EarlierRefundEndsAll(Reference):
    """A refund of any period ends the current one."""

    class projection(Projection):
        def billed(self, subscription, index, periods):
            one = copy.copy(subscription[index])
            dates = [other.revoked for other in subscription if other.revoked is not None]
            one.revoked = min(dates, default=None)
            changed = subscription[:index] + [one] + subscription[index + 1 :]
            return super().billed(changed, index, self.periods_of(changed))


class SandboxCounts(Reference):
    """A Sandbox purchase is a purchase."""

    @staticmethod
    def prefix(environment):
        return ""


class TransferToBoth(Reference):
    """The new owner gets the purchase, and the old one keeps it."""

    class projection(Projection):
        @staticmethod
        def part(period, begin, until):
            return period


class SecondIdentity(Reference):
    """Who has no token is somebody new."""

    class owners(Owners):
        def indirect(self, purchase, purchases, direct):
            return [("anonymous-" + purchase.original, None)]


class TokenlessRenewal(Reference):
    """Whose a transaction is, is decided when it comes."""

    def events(self, scenario):
        named = set()
        kept = []
        for event in scenario.events:
            payload = event.transaction
            if payload is not None and payload.get("appAccountToken"):
                named.add(payload.purchase(event))
            if payload is None or payload.purchase(event) in named:
                kept.append(event)
        return kept


class DroppedReversal(Reference):
    """Content that was seen before is a duplicate."""

    def events(self, scenario):
        seen = set()
        kept = []
        for event in scenario.events:
            if event.transaction is not None:
                state = (event.transaction.key(event), content_hash(event.transaction.text))
                if state in seen:
                    continue
                seen.add(state)
            kept.append(event)
        return kept


class ForgottenDate(Reference):
    """The same content signed again is dropped, and its date with it."""

    def events(self, scenario):
        newest = {}
        kept = []
        for event in sorted(scenario.events, key=lambda one: one.transaction["purchaseDate"]):
            key = event.transaction.key(event)
            content = content_hash(event.transaction.text)
            if newest.get(key) != content:
                newest.setdefault(key, content)
                kept.append(event)
        return kept


class LateRefund(ArrivalOrder):
    """The memory that tells new from old is the only one that does, and it is pruned."""

    def events(self, scenario):
        newest = {}
        kept = []
        for number, event in enumerate(scenario.events):
            if number == len(scenario.events) - 1:
                newest = {}
            key = event.transaction.key(event)
            if event.signed > newest.get(key, 0):
                newest[key] = event.signed
                kept.append(event)
        return kept


class Backfill(Reference):
    """The newest token is the one signed last."""

    class owners(Owners):
        def in_order(self, purchase):
            return sorted(purchase.transactions, key=lambda one: one.signed)


class WithdrawnToken(Reference):
    """What the newest revision does not name, nobody has named."""

    class facts(Facts):
        def add_names(self, key, revision, payload):
            for name in (account_token, app_transaction):
                known = self.named.get((key, name))
                if known is None or known[0] < revision:
                    self.named[key, name] = (revision, payload)


DEFECTS = {
    "arrival order overwrites": [ArrivalOrder],
    "a refunded subscription never active again after renewal or reversal": [RefundForEver],
    "REVOKED matched where Apple sends REVOKE": [RevokedSpelling],
    "a downgrade applied at once": [EarlyDowngrade],
    "unknown user dropped": [UnknownUser],
    "a refund of an earlier period ignored or ending the current one": [
        EarlierRefundIgnored,
        EarlierRefundEndsAll,
    ],
    "Sandbox making a row active": [SandboxCounts],
    "a transfer leaving both users entitled": [TransferToBoth],
    "a missing token creating a second identity": [SecondIdentity],
    "a tokenless renewal before its purchase staying without owner": [TokenlessRenewal],
    "a reversal dropped as duplicate": [DroppedReversal],
    "A@1, A@3, B@2 in any order ending in B": [ForgottenDate],
    "a late refund winning after the dedupe memory was pruned": [LateRefund],
    "the newest token taken by signed date, so that a backfill hands a purchase back": [Backfill],
    "a transaction signed again without its token losing its owner": [WithdrawnToken],
}
