"""What Apple is answered about a refund (Sources/Rules/Entitlements/RULES.md, Answers to refund requests)."""

import json
from collections import deque

import times

ALL = 100_000
DAY = times.DAY
TYPES = [
    "Auto-Renewable Subscription",
    "Non-Consumable",
    "Consumable",
    "Non-Renewing Subscription",
    "Bundle",
]
PREFERENCES = ["none", "decline", "grant_full", "grant_prorated"]


class Refund:
    """One random purchase whose refund is requested; small numbers, so that dates and amounts meet."""

    def __init__(self, random):
        self.random = random
        start = random.randint(0, 20)
        self.case = {
            "type": random.choice(TYPES),
            "isDelivered": random.random() < 0.8,
            "now": random.randint(0, 40) * DAY,
            "start": start * DAY,
            "end": random.choice([None, (start + random.randint(1, 30)) * DAY]),
            "credits": [self.credit(str(number)) for number in range(1, random.randint(2, 6))],
            "debits": [self.debit() for _ in range(random.randint(0, 6))],
            "refundsInYear": random.randint(0, 4),
            "wasTried": random.random() < 0.2,
            "isAdvancedCommerce": random.random() < 0.3,
            "rules": [self.rule() for _ in range(random.randint(0, 3))],
            "otherwise": random.choice(PREFERENCES),
            "wanted": random.choice([None, None, None, *PREFERENCES]),
        }

    def credit(self, number):
        amount = self.random.randint(1, 9)
        credit = {
            "id": number,
            "currency": self.random.choice(["coins", "gems"]),
            "amount": amount,
            "date": self.random.randint(0, 5),
            "takenBack": 0,
        }
        if self.random.random() < 0.3:
            credit["takenBack"] = self.random.randint(0, amount)
            credit["revoked"] = self.random.randint(0, 8)
        return credit

    def debit(self):
        currency = self.random.choice(["coins", "gems"])
        return {"currency": currency, "amount": self.random.randint(1, 9), "date": self.random.randint(0, 8)}

    def rule(self):
        rule = {"prefer": self.random.choice(PREFERENCES)}
        if self.random.random() < 0.6:
            rule["consumedPercent"] = self.random.choice([1, 50, 100])
        if self.random.random() < 0.4:
            rule["refundsInYear"] = self.random.randint(1, 3)
        return rule


def spent(case, currency):
    """The units of purchase 1 that were spent, and all of them: each unit on its own, in a queue."""
    happenings = []
    for credit in case["credits"]:
        if credit["currency"] != currency:
            continue
        units = [credit["id"]] * credit["amount"]
        happenings.append((credit["date"], 1, credit["id"], units))
        if "revoked" in credit:
            date = max(credit["revoked"], credit["date"])
            happenings.append((date, 2, credit["id"], credit["takenBack"]))
    for debit in case["debits"]:
        if debit["currency"] == currency:
            happenings.append((debit["date"], 3, "", debit["amount"]))
    queue, gone = deque(), []
    for _, kind, name, what in sorted(happenings, key=lambda one: one[:3]):
        if kind == 1:
            queue.extend(what)
        elif kind == 2:
            for _ in range(min(what, queue.count(name))):
                queue.remove(name)
        else:
            gone += [queue.popleft() for _ in range(min(what, len(queue)))]
    return gone.count("1"), sum(len(units) for _, kind, name, units in happenings if kind == 1 and name == "1")


def consumed(case):
    if not case["isDelivered"]:
        return 0
    if case["type"] == "Consumable":
        currencies = {credit["currency"] for credit in case["credits"] if credit["id"] == "1"}
        shares = [part * ALL // whole for part, whole in (spent(case, one) for one in currencies)]
        return sum(shares) // len(shares)
    if case["type"] in ("Auto-Renewable Subscription", "Non-Renewing Subscription"):
        if case["end"] is None:
            return ALL
        passed = (case["now"] - case["start"]) * ALL // (case["end"] - case["start"])
        return max(0, min(ALL, passed))
    return ALL


def preference(case, share):
    if case["wanted"] is not None:
        return case["wanted"]
    for rule in case["rules"]:
        if share * 100 >= rule.get("consumedPercent", 0) * ALL and case["refundsInYear"] >= rule.get(
            "refundsInYear", 0
        ):
            chosen = rule["prefer"]
            break
    else:
        chosen = case["otherwise"]
    return "none" if chosen == "decline" and not case["isDelivered"] else chosen


UNDECLARED = ["accountTenure", "lifetimeDollarsPurchased", "lifetimeDollarsRefunded", "platform", "playTime", "userStatus"]


def first_version(case):
    """The body for a purchase of Advanced Commerce: numbers for words, and no share."""
    share, chosen = consumed(case), preference(case, consumed(case))
    known = case["type"] != "Bundle" or not case["isDelivered"]
    if chosen == "grant_prorated":
        chosen = {0: "grant_full", ALL: "decline"}.get(share, "none") if known else "none"
    body = dict.fromkeys(UNDECLARED, 0)
    body["appAccountToken"] = ""
    body["consumptionStatus"] = {0: 1, ALL: 3}.get(share, 2) if known else 0
    body["customerConsented"] = True
    body["deliveryStatus"] = 0 if case["isDelivered"] else 5
    if chosen != "none":
        body["refundPreference"] = {"grant_full": 1, "decline": 2}[chosen]
    body["sampleContentProvided"] = case["wasTried"]
    return dict(sorted(body.items()))


def answer(case):
    if case["isAdvancedCommerce"]:
        return first_version(case)
    share = consumed(case)
    has_share = case["type"] in ("Consumable", "Non-Consumable", "Non-Renewing Subscription")
    chosen = preference(case, share)
    if chosen == "grant_prorated" and (has_share or not case["isDelivered"]):
        # Apple takes a share strictly between nothing and all.
        chosen = {0: "grant_full", ALL: "decline"}.get(share, chosen)
    body = {"customerConsented": True}
    if has_share:
        body["consumptionPercentage"] = share
    body["deliveryStatus"] = "DELIVERED" if case["isDelivered"] else "UNDELIVERED_OTHER"
    if chosen != "none":
        body["refundPreference"] = chosen.upper()
    body["sampleContentProvided"] = case["wasTried"]
    return body


def text(case):
    body = json.dumps(answer(case), separators=(",", ":"))
    return json.dumps({**case, "answer": body}, separators=(",", ":"))
