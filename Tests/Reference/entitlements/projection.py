"""What purchases grant (Sources/Rules/Entitlements/RULES.md, Entitlement)."""

import copy

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
        """What Apple signs with an unknown type has the type that the catalog gives its product;
        without one it holds as a subscription does, grace included, if it has an end, and grants
        nothing without an end.
        """
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
        owned = self.bought(owned)
        stacks = self.stacks(owned)
        rows = {}
        for purchase, spans in owned:
            granted = list(self.granted(purchase))
            for index, (user, begin) in enumerate(spans):
                until = spans[index + 1][1] if index + 1 < len(spans) else None
                stacked = self.stacked(purchase, user, stacks)
                for _, product, period in granted + stacked:
                    for key in self.keys(product):
                        rows.setdefault((user, purchase.environment, key), []).append(
                            self.part(period, begin, until)
                        )
        united = {row: times.united(periods) for row, periods in rows.items()}
        return {row: periods for row, periods in united.items() if periods}

    def terms(self, owned):
        """(user, environment, key) -> original transaction ID -> how it is held."""
        owned = self.bought(owned)
        stacks = self.stacks(owned)
        terms = {}
        for purchase, spans in owned:
            period_bought_last = self.newest_period(purchase)
            ownership = self.newest(purchase.transactions).ownership_type
            status = self.status(purchase, period_bought_last)
            granted = list(self.granted(purchase))
            for index, (user, begin) in enumerate(spans):
                until = spans[index + 1][1] if index + 1 < len(spans) else None
                for one, product, period in granted + self.stacked(purchase, user, stacks):
                    if not times.united([self.part(period, begin, until)]):
                        continue
                    for key in self.keys(product):
                        held = terms.setdefault((user, purchase.environment, key), {})
                        held = held.setdefault(purchase.original, {})
                        # Of the purchase, whatever period this is.
                        held["ownershipType"] = ownership
                        if one in period_bought_last:
                            held["seats"] = self.seats(period_bought_last)
                            held["additionalTransactionReason"] = self.reason(period_bought_last)
                            held.update(status)
        return terms

    def status(self, purchase, period):
        """What the newest renewal info says of the subscription, beside its newest period."""
        info = purchase.newest_info
        if info is None or not period:
            return {}
        renews, product = info.get("autoRenewStatus"), info.get("autoRenewProductId")
        return {
            "willRenew": None if renews is None else renews == 1,
            "renewsTo": None if product == period[0].product else product,
            "isInBillingRetry": info.get("isInBillingRetryPeriod"),
            "priceIncrease": {0: "pending", 1: "consented"}.get(info.get("priceIncreaseStatus")),
            "expirationReason": self.reason_of_end(info.get("expirationIntent")),
            "grace": self.grace_after(purchase, period, info),
        }

    @staticmethod
    def reason_of_end(intent):
        known = "cancelled billing_error price_increase_declined product_unavailable other".split()
        if intent is None:
            return None
        return known[intent - 1] if 1 <= intent <= len(known) else str(intent)

    def grace_after(self, purchase, period, info):
        if info.get("gracePeriodExpiresDate") is None:
            return None
        subscription = [one for one in purchase.transactions if self.type(one) == "auto-renewable"]
        grace = (info["gracePeriodExpiresDate"], info.get("renewalDate"))
        found = self.grace(self.periods_of(subscription), grace)
        spans = [span for one, span in found if one in period]
        united = times.united(spans[:1])
        return "/".join(times.text(date) for date in united[0]) if united else None

    @staticmethod
    def newest(transactions):
        """The one bought last; of those bought in that second the last that is not revoked."""
        last = transactions[-1]
        at_once = [one for one in transactions if one.purchased // 1000 == last.purchased // 1000]
        return ([one for one in at_once if one.revoked is None] or [last])[-1]

    def newest_period(self, purchase):
        """The transactions of the period that was bought last."""
        subscription = [one for one in purchase.transactions if self.type(one) == "auto-renewable"]
        last = self.newest(subscription) if subscription else None
        return next((of for of in self.periods_of(subscription) if last in of), [])

    @staticmethod
    def seats(period):
        """A member's transaction repeats the purchaser's seats; a quantity of 1 alone is no seat."""
        is_multiseat = any(one.quantity > 1 or one.seats_revoked is not None for one in period)
        if not is_multiseat or any(one.ownership != "PURCHASED" for one in period):
            return None
        paid = [one for one in period if one.revoked is None]
        return sum(max(0, one.quantity - max(0, one.seats_revoked or 0)) for one in paid)

    @staticmethod
    def reason(period):
        named = [one.reason for one in period if one.reason is not None]
        return named[-1] if named else None

    @staticmethod
    def part(period, begin, until):
        """Each owner keeps what was theirs before the next one's date."""
        return times.clipped(period, begin, until)

    # -- what was bought once is one, under however many transaction IDs

    def bought(self, owned):
        """The same purchases, each of whose copies are one transaction."""
        return [(self.without_copies(purchase), spans) for purchase, spans in owned]

    def without_copies(self, purchase):
        groups = []
        for one in purchase.transactions:
            of = [group for group in groups if any(self.are_copies(one, other) for other in group)]
            groups = [group for group in groups if group not in of] + [sum(of, []) + [one]]
        result = copy.copy(purchase)
        joined = [self.joined(sorted(group, key=lambda one: one.order)) for group in groups]
        result.transactions = sorted(joined, key=lambda one: one.order)
        return result

    def are_copies(self, one, other):
        kind = self.type(one)
        if (one.product, one.ownership, kind) != (other.product, other.ownership, self.type(other)):
            return False
        at_once = one.purchased // 1000 == other.purchased // 1000
        if kind == "auto-renewable":
            return self.is_one_period(one, other, at_once)
        return kind == "non-consumable" or kind is not None and at_once

    @staticmethod
    def is_one_period(one, other, at_once):
        """Seats that were added to a period are copies of nothing."""
        if one.added or other.added:
            return False
        if at_once and second(one.expires) == second(other.expires):
            return True
        if one.line is None or one.line != other.line or None in (one.expires, other.expires):
            return False
        return one.purchased < other.expires and other.purchased < one.expires

    def joined(self, copies):
        """What ends one of the copies ends all of them, from the earliest date on."""
        one = copy.copy(copies[0])
        one.start = min(each.start for each in copies)
        one.expires = max((e.expires for e in copies if e.expires is not None), default=None)
        revoked = [each for each in copies if each.revoked is not None]
        one.revoked = min((each.revoked for each in revoked), default=None)
        shares = [each.percentage for each in revoked]
        one.percentage = max(shares) if shares and None not in shares else None
        one.is_upgraded = any(each.is_upgraded for each in copies)
        one.quantity = max(each.quantity for each in copies)
        seats = [each.seats_revoked for each in copies if each.seats_revoked is not None]
        one.seats_revoked = max(seats, default=None)
        one.items = []
        for each in copies:
            self.join_items(one.items, each.items)
        return one

    @staticmethod
    def join_items(known, items):
        """The same SKU is the same item; a list that names it twice has two of them."""
        left = list(known)
        for item in items:
            same = next((one for one in left if one[0].get("SKU") == item.get("SKU")), None)
            if same is None:
                known.append([item])
            else:
                same.append(item)
                left = [one for one in left if one is not same]

    @staticmethod
    def start(purchase, one):
        """What is signed as bought is bought, whatever later date its first purchase carries."""
        return one.start if one.purchased == purchase.transactions[0].purchased else one.purchased

    def granted(self, purchase):
        """(transaction, product, period) of all but non-renewing transactions."""
        subscription = [one for one in purchase.transactions if self.type(one) == "auto-renewable"]
        periods = self.periods_of(subscription)
        for index, one in enumerate(subscription):
            if one.expires is not None:
                period = (self.start(purchase, one), self.billed(subscription, index, periods))
                yield from self.with_items(one, period)
        for grace in self.graces(purchase):
            for found in self.grace(periods, grace):
                yield from self.with_items(*found)
        for one in purchase.transactions:
            period = (self.start(purchase, one), one.revoked)
            if self.type(one) == "non-consumable":
                yield from self.with_items(one, period)
            elif self.type(one) == "consumable":
                yield from self.items(one, period)

    # -- several transactions may represent one period: seats were added to it

    @staticmethod
    def periods_of(subscription):
        """Lists of the transactions that represent one period, by their first purchases."""
        by_end = {}
        for one in subscription:
            end = second(one.expires)
            if end is not None and one.purchased // 1000 < end:
                by_end.setdefault((one.product, one.ownership, end), []).append(one)
        shared = [of for of in by_end.values() if any(one.added for one in of)]
        alone = [[one] for one in subscription if not any(one in of for of in shared)]
        return sorted(shared + alone, key=lambda of: of[0].order)

    @staticmethod
    def revoked(period):
        """A period ends early when all of its transactions are revoked, and not before."""
        dates = [one.revoked for one in period]
        return None if None in dates else max(dates)

    def billed(self, subscription, index, periods):
        """When it ends; it begins with its purchase."""
        one = subscription[index]
        period = next(of for of in periods if one in of)
        end = one.expires
        replaced = self.next_purchase(periods, period)
        if any(each.is_upgraded for each in period) and replaced is not None:
            end = min(end, replaced)
        revoked = self.revoked(period)
        if revoked is not None:
            end = min(end, revoked)
        return end

    @staticmethod
    def graces(purchase):
        """Every grace ever granted counts: later renewal info no longer names it."""
        named = [info for info in purchase.infos if info.get("gracePeriodExpiresDate") is not None]
        return {(info["gracePeriodExpiresDate"], info.get("renewalDate")) for info in named}

    def grace(self, periods, grace):
        """From the end of the period that could not be renewed to the recovering purchase."""
        expires, ended = grace
        is_named = ended is not None and ended < expires
        if not is_named:
            # Apple does not say which period it was: the last one bought that ended before.
            before = [of[0] for of in periods if (of[0].expires or expires) < expires]
            ended = before[-1].expires if before else None
        bought = [of for of in periods if ended is not None and of[0].purchased < ended]
        if not bought or bought[-1][0].expires is None:
            return
        base = bought[-1]
        end = expires
        recovered = self.next_purchase(periods, base)
        if recovered is not None:
            end = min(end, recovered)
        for one in base:
            if is_named and one.expires // 1000 < ended // 1000:
                # The period that ended then is not known, nor whether it was refunded.
                yield one, (ended, end)
            else:
                revoked = self.revoked(base)
                yield one, (one.expires, end if revoked is None else min(end, revoked))

    @staticmethod
    def next_purchase(periods, period):
        """The first purchase later than the period's that is not one of its own."""
        others = [one.purchased for of in periods if of is not period for one in of]
        return min((date for date in others if date > period[0].purchased), default=None)

    def with_items(self, transaction, period):
        yield transaction, transaction.product, period
        yield from self.items(transaction, period)

    def items(self, transaction, period):
        """Advanced Commerce: items that the catalog names grant their own keys."""
        for copies in item_copies(transaction):
            if copies[0].get("SKU") in self.products:
                dates = [self.taken_back(item) for item in copies]
                ended = min((date for date in dates if date is not None), default=None)
                # Of a consumable there are no keys.
                yield transaction, copies[0]["SKU"], times.clipped(period, None, ended)

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
                if period[0] == one.purchased:
                    period = (self.start(purchase, one), period[1])
                result += self.with_items(one, period)
        return result

    # -- the ledger

    def balances(self, owned):
        """(user, environment, currency) -> balance; a zero credit does not exist."""
        balances = {}
        for purchase, spans in self.bought(owned):
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
        for copies in item_copies(transaction):
            sku = copies[0].get("SKU")
            if self.products.get(sku, {}).get("type") == "consumable":
                shares = [share for item in copies for share in self.item_shares(item)]
                yield from self.of_product(transaction, sku, shares)

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


def second(date):
    """Receipts know whole seconds."""
    return None if date is None else date // 1000


def item_copies(transaction):
    """Each item as a list of what the copies of its transaction say of it."""
    return [item if isinstance(item, list) else [item] for item in transaction.items]
