"""Whose a purchase is (Sources/Rules/Entitlements/RULES.md, Ownership)."""

from facts import NEVER, account_token, app_transaction

ENDED_AT_ONCE = "Consumable"
SUBSCRIPTION = "Auto-Renewable Subscription"


class Purchase:
    """What is known of one purchase: its transactions in order, and what renewal infos say."""

    def __init__(self, key, transactions, facts):
        self.environment, self.bundle, self.original = key
        self.transactions = sorted(transactions, key=lambda one: one.order)
        # Renewal info names no app: it joins where the same trust vouched for a transaction.
        trusts = set().union(*(one.trusts for one in transactions))
        keys = [(self.environment, self.original, trust) for trust in trusts]
        self.infos = [info for key in keys for info in facts.infos.get(key, [])]
        newest = [facts.renewals[key] for key in keys if key in facts.renewals]
        self.newest_info = max(newest, key=lambda one: one[0])[1].renewal if newest else None
        self.renewal_token = self.of_renewals(keys, account_token, facts)
        named = [one.app_transaction for one in self.transactions if one.app_transaction]
        own = named[-1] if named else None
        self.app_transaction = own or self.of_renewals(keys, app_transaction, facts)
        self.claims = facts.claims.get(key, set())

    @staticmethod
    def of_renewals(keys, name, facts):
        """What the newest renewal info names that names one, under any trust."""
        named = [facts.named[key, name] for key in keys if (key, name) in facts.named]
        return name(max(named, key=lambda one: one[0])[1]) if named else None


class Owners:
    """The owners of purchases, as spans (user, from) in order, the first from the beginning."""

    def __init__(self, links, linking):
        self.links = links
        self.policy = linking.get("policy", "transfer")
        self.identity = linking.get("identity", False)
        self.trusts_ingestion = linking.get("trustsIngestion", False)
        self.moves_restored = linking.get("movesRestored", False)

    def of_all(self, purchases):
        direct = {id(one): self.direct(one) for one in purchases}
        return [(one, direct[id(one)] or self.indirect(one, purchases, direct)) for one in purchases]

    def user(self, token):
        return token if self.identity else self.links.tokens.get(token)

    def direct(self, purchase):
        """Rules 1 and 2: what the purchase says by itself."""
        linked = self.links.originals.get(purchase.original)
        if linked is not None:
            return [(linked, None)]
        with_token = [one for one in self.in_order(purchase) if one.token]
        if not with_token:
            user = self.user(purchase.renewal_token) if purchase.renewal_token else None
            return [(user, None)] if user else []
        named = [(self.user(one.token), one.purchased, False) for one in with_token]
        # A token without a link leaves the former owner.
        return self.followed([one for one in named if one[0]], purchase)

    def in_order(self, purchase):
        """By purchase date and never by signed date: a backfill signs old transactions again."""
        return purchase.transactions

    def indirect(self, purchase, purchases, direct):
        """Rules 3 and 4."""
        linked = self.links.app_transactions.get(purchase.app_transaction)
        if linked is not None:
            return [(linked, None)]
        if purchase.app_transaction is not None:
            users = {
                direct[id(one)][-1][0]
                for one in purchases
                if direct[id(one)]
                and one.app_transaction == purchase.app_transaction
                and (one.environment, one.bundle) == (purchase.environment, purchase.bundle)
            }
            if len(users) == 1:
                return [(users.pop(), None)]
        if not self.trusts_ingestion:
            return []
        claimed = {}
        for purchased, identifier, position, user in sorted(purchase.claims):
            # The first record of each user beside a transaction counts.
            claimed.setdefault((purchased, identifier), {}).setdefault(user, position)
        named = []
        for (purchased, identifier), users in claimed.items():
            (first, position), *others = users.items()
            named.append((purchased, identifier, position, first, False))
            if self.moves_restored:
                named += [
                    (max(purchased, position[0]), identifier, position, user, True)
                    for user, position in others
                    if position[0] != NEVER
                ]
        return self.followed([(user, date, late) for date, _, _, user, late in sorted(named)], purchase)

    def followed(self, named, purchase):
        """From owner to owner, as the policy lets the purchase move."""
        spans = []
        for user, date, is_restore in named:
            if not spans:
                spans.append((user, None))
            elif spans[-1][0] != user and self.moves(date, is_restore, purchase):
                if spans[-1][1] == date:
                    spans.pop()
                if not spans or spans[-1][0] != user:
                    spans.append((user, date))
        return spans

    def moves(self, date, is_restore, purchase):
        if self.policy == "transfer_if_inactive":
            # What is restored runs itself; what is bought does not stand in its own way.
            return not any(
                (is_restore or one.purchased < date) and is_running(one, date)
                for one in purchase.transactions
            )
        return self.policy == "transfer"


def is_running(transaction, date):
    """Whether what was paid for covers the date; an upgrade does not end it for its owner."""
    end = transaction.expires
    if transaction.type == ENDED_AT_ONCE:
        end = transaction.purchased
    elif transaction.type == SUBSCRIPTION and end is None:
        end = transaction.purchased
    if transaction.revoked is not None:
        end = transaction.revoked if end is None else min(end, transaction.revoked)
    return transaction.purchased <= date and (end is None or date < end)
