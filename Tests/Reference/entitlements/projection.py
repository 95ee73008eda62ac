"""What purchases grant (Sources/ARCHITECTURE.md, The rules of entitlement)."""

import times

TYPES = {
    "Auto-Renewable Subscription": "auto-renewable",
    "Non-Consumable": "non-consumable",
    "Consumable": "consumable",
    "Non-Renewing Subscription": "non-renewing",
}


class Projection:
    """The rows that follow from purchases, their owners and a catalog."""

    def __init__(self, catalog):
        self.products = catalog["products"]

    # -- the catalog

    def type(self, transaction):
        """Apple's value if it is known, else the catalog's; else what has an end is a period."""
        if transaction.type in TYPES:
            return TYPES[transaction.type]
        if transaction.product in self.products:
            return self.products[transaction.product]["type"]
        return "auto-renewable" if transaction.expires is not None else None

    def keys(self, product):
        """An unknown product grants an entitlement named by its ID."""
        known = self.products.get(product)
        if known is None:
            return [product]
        if known["type"] == "consumable":
            return []
        return known.get("entitlements", [product])

    @staticmethod
    def holding(value, member, date):
        """Of a value, or of a list of values each with the date from which it holds."""
        if not isinstance(value, list):
            return value
        begun = [
            (times.instant(one["from"]) if "from" in one else float("-inf"), one[member])
            for one in value
            if "from" not in one or times.instant(one["from"]) <= date
        ]
        return max(begun, key=lambda one: one[0])[1] if begun else None

    # -- entitlements

    def rows(self, owned):
        """(user, environment, key) -> periods, from a list of (purchase, spans)."""
        stacks = self.stacks(owned)
        rows = {}
        for purchase, spans in owned:
            granted = list(self.granted(purchase))
            for index, (user, begin) in enumerate(spans):
                until = spans[index + 1][1] if index + 1 < len(spans) else None
                stacked = self.stacked(purchase, user, stacks)
                for product, period in granted + stacked:
                    for key in self.keys(product):
                        rows.setdefault((user, purchase.environment, key), []).append(
                            self.part(period, begin, until)
                        )
        united = {row: times.united(periods) for row, periods in rows.items()}
        return {row: periods for row, periods in united.items() if periods}

    @staticmethod
    def part(period, begin, until):
        """Each owner keeps what was theirs before the next one's date."""
        return times.clipped(period, begin, until)

    def granted(self, purchase):
        """(product, period) of all but non-renewing transactions."""
        subscription = [one for one in purchase.transactions if self.type(one) == "auto-renewable"]
        for index, one in enumerate(subscription):
            yield from self.with_items(one, self.billed(subscription, index))
        for grace in purchase.graces:
            found = self.grace(subscription, grace)
            if found is not None:
                yield from self.with_items(*found)
        for one in purchase.transactions:
            if self.type(one) == "non-consumable":
                yield from self.with_items(one, (one.purchased, one.revoked))
            elif self.type(one) == "consumable":
                yield from self.items(one, (one.purchased, one.revoked))

    def billed(self, subscription, index):
        one = subscription[index]
        if one.expires is None:
            return (one.purchased, one.purchased)
        end = one.expires
        replaced = self.next_purchase(subscription, one.purchased)
        if one.is_upgraded and replaced is not None:
            end = min(end, replaced)
        if one.revoked is not None:
            end = min(end, one.revoked)
        return (one.purchased, end)

    def grace(self, subscription, grace):
        """From the end of the period that could not be renewed to the recovering purchase."""
        expires, ended = grace
        is_named = ended is not None and ended < expires
        if not is_named:
            # Apple does not say which period it was: the last one bought that ended before.
            before = [one for one in subscription if (one.expires or expires) < expires]
            ended = before[-1].expires if before else None
        bought = [one for one in subscription if ended is not None and one.purchased < ended]
        if not bought or bought[-1].expires is None:
            return None
        base = bought[-1]
        end = expires
        recovered = self.next_purchase(subscription, base.purchased)
        if recovered is not None:
            end = min(end, recovered)
        if is_named and base.expires // 1000 < ended // 1000:
            # The period that ended then is not known, nor whether it was refunded.
            return base, (ended, end)
        if base.revoked is not None:
            end = min(end, base.revoked)
        return base, (base.expires, end)

    @staticmethod
    def next_purchase(subscription, date):
        return min((one.purchased for one in subscription if one.purchased > date), default=None)

    def with_items(self, transaction, period):
        yield transaction.product, period
        yield from self.items(transaction, period)

    def items(self, transaction, period):
        """Advanced Commerce: items that the catalog names grant their own keys."""
        for item in transaction.items:
            if item.get("SKU") in self.products:
                # Of a consumable there are no keys.
                yield item["SKU"], times.clipped(period, None, self.taken_back(item))

    @staticmethod
    def taken_back(item):
        if "revocationDate" in item:
            return item["revocationDate"]
        refunds = [one for one in item.get("refunds", []) if one.get("refundType") == "FULL"]
        return min((one["refundDate"] for one in refunds), default=None)

    # -- non-renewing purchases extend each other per user and product

    def stacks(self, owned):
        """(environment, bundle, user, product) -> transaction ID -> period."""
        bought = {}
        for purchase, spans in owned:
            for one in purchase.transactions:
                # A refunded one is as if never bought.
                if self.type(one) == "non-renewing" and one.revoked is None:
                    for user in {user for user, _ in spans}:
                        stack = (purchase.environment, purchase.bundle, user, one.product)
                        bought.setdefault(stack, []).append(one)
        return {stack: self.periods(stack[3], of) for stack, of in bought.items()}

    def periods(self, product, bought):
        periods = {}
        end = float("-inf")
        for one in sorted(bought, key=lambda one: one.order):
            if end is None:
                break
            start = max(end, one.purchased)
            durations = self.products.get(product, {}).get("duration")
            duration = self.holding(durations, "period", one.purchased)
            end = None if duration is None else times.later(start, duration, one.quantity)
            periods[one.id] = (start, end)
        return periods

    def stacked(self, purchase, user, stacks):
        result = []
        for one in purchase.transactions:
            stack = (purchase.environment, purchase.bundle, user, one.product)
            period = stacks.get(stack, {}).get(one.id)
            if period is not None:
                result += self.with_items(one, period)
        return result

    # -- the ledger

    def balances(self, owned):
        """(user, environment, currency) -> balance; a credit of nothing is none."""
        balances = {}
        for purchase, spans in owned:
            for one in purchase.transactions:
                users = [user for user, begin in spans if begin is None or begin <= one.purchased]
                if users:
                    for currency, balance in self.credited(one):
                        key = (users[-1], purchase.environment, currency)
                        balances[key] = balances.get(key, 0) + balance
        return balances

    def credited(self, transaction):
        """(currency, balance) of a consumable, and of each item that the catalog names as one."""
        if self.type(transaction) is None:
            return
        if self.type(transaction) == "consumable":
            yield from self.of_product(transaction, transaction.product, [])
        for item in transaction.items:
            if self.products.get(item.get("SKU"), {}).get("type") == "consumable":
                yield from self.of_product(transaction, item["SKU"], list(self.item_shares(item)))

    def of_product(self, transaction, product, shares):
        for currency, amounts in self.products.get(product, {}).get("credits", {}).items():
            unit = self.holding(amounts, "amount", transaction.purchased)
            if unit:
                amount = unit * transaction.quantity
                yield currency, amount - self.taken_back_of(amount, transaction, shares)

    @staticmethod
    def taken_back_of(amount, transaction, shares):
        """What went back of the whole transaction or of the item alone, whichever is more."""
        if transaction.revoked is not None:
            percentage = transaction.percentage
            shares = shares + [(100_000 if percentage is None else percentage, 100_000)]
        # To the nearest unit, half up.
        return max(((2 * amount * part + of) // (2 * of) for part, of in shares), default=0)

    @classmethod
    def item_shares(cls, item):
        if cls.taken_back(item) is not None:
            yield 1, 1
        parts = [
            one["refundAmount"]
            for one in item.get("refunds", [])
            if one.get("refundType") != "FULL" and "refundDate" in one
            and one.get("refundAmount", 0) > 0
        ]
        if parts and item.get("price", 0) > 0:
            yield min(sum(parts), item["price"]), item["price"]
