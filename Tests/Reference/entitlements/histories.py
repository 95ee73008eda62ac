"""Random histories as scenarios: small numbers, so that dates, tokens and revisions meet often."""

import json

import times
from facts import NIL_UUID, RECEIPT

START = times.instant("2026-01-01")
TOKENS = {user: f"{user[0] * 8}-0000-4000-8000-000000000001" for user in ("anna", "ben", "carl")}
PRODUCTS = {
    "basic": "Auto-Renewable Subscription",
    "pro": "Auto-Renewable Subscription",
    "unknown": "Auto-Renewable Subscription",
    "life": "Non-Consumable",
    "season": "Non-Renewing Subscription",
    "pass": "Non-Renewing Subscription",
    "coins": "Consumable",
    "novelty": "Bundle",
}
CATALOG = {
    "products": {
        "basic": {"type": "auto-renewable", "entitlements": ["basic"]},
        "pro": {"type": "auto-renewable", "entitlements": ["basic", "pro"]},
        "life": {"type": "non-consumable"},
        "season": {
            "type": "non-renewing",
            "duration": [{"period": "P10D"}, {"period": "P1M", "from": "2026-02-01"}],
        },
        "coins": {
            "type": "consumable",
            "credits": {
                "coins": [{"amount": 101}, {"amount": 7, "from": "2026-02-01"}],
                "gems": [{"amount": 3, "from": "2026-01-15"}],
            },
        },
        "sku": {"type": "auto-renewable", "entitlements": ["extra", "pro"]},
        "gift": {
            "type": "consumable",
            "credits": {"coins": 11, "stars": [{"amount": 5, "from": "2026-01-20"}]},
        },
    }
}


class History:
    """One random history; `random` is seeded by the caller."""

    def __init__(self, random):
        self.random = random
        # Whether many sessions post what has no token.
        self.is_shared = self.chance(4)
        # Before what is bought, between, and after it.
        self.signing = START + random.choice([0, 30, 100]) * times.DAY
        events = []
        for number in range(1, random.randint(1, 3) + 1):
            events += self.purchase(str(number))
        random.shuffle(events)
        self.scenario = {
            "catalog": CATALOG,
            "linking": {
                "policy": random.choice(["transfer", "keep", "transfer_if_inactive"]),
                "identity": self.chance(8),
                "trustsIngestion": self.chance(2),
                "movesRestored": self.chance(2),
            },
            "links": self.links(),
            "events": events,
        }

    @property
    def text(self):
        return json.dumps(self.scenario, separators=(",", ":"))

    def chance(self, of):
        return self.random.randrange(of) == 0

    def day(self, first, last):
        """A day, now and then with some milliseconds."""
        date = START + self.random.randint(first, last) * times.DAY
        return date + (self.random.choice([1, 500, 86_399_999]) if self.chance(12) else 0)

    def links(self):
        links = [
            {"token": token, "user": user}
            for user, token in TOKENS.items()
            if not self.chance(3)
        ]
        if self.chance(3):
            links.append({"appTransactionId": "701", "user": self.random.choice(["anna", "dora"])})
        if self.chance(6):
            links.append({"originalTransactionId": "1", "user": "erik"})
        return links

    def purchase(self, original):
        place = {}
        if self.chance(8):
            place["environment"] = "Sandbox"
        bundle = "com.example.other" if self.chance(10) else "com.example.app"
        events, known = [], []
        is_subscription = not self.chance(3)
        for number in range(1, self.random.randint(1, 5 if is_subscription else 3) + 1):
            first = {
                "transactionId": original if number == 1 else f"{original}-{number}",
                "originalTransactionId": original,
                "bundleId": bundle,
            }
            if known and self.chance(2):
                first = {**self.again(self.random.choice(known)), **first}
            else:
                first = {**self.bought(is_subscription), **first}
            known.append(first)
            # Nobody signs the same content at the same instant for two trusts.
            signed = {**place, "trust": "test"} if self.chance(12) else place
            events += [self.revision(first, signed) for _ in range(self.random.randint(1, 4))]
        for _ in range(self.random.randint(0, 3)):
            event = self.signed(place)
            if self.chance(12):
                event["trust"] = "test"
            events.append({**event, "renewalInfo": self.renewal(original)})
        return events

    def bought(self, is_subscription):
        products = ["basic", "pro", "unknown", "novelty"] if is_subscription else list(PRODUCTS)
        product = self.random.choice(products)
        first = {
            "productId": product,
            "type": PRODUCTS[product],
            "purchaseDate": self.day(0, 60),
            "quantity": self.random.randint(1, 2),
        }
        if product == "novelty" or first["type"].startswith("Auto"):
            first["expiresDate"] = first["purchaseDate"] + self.random.randint(-1, 20) * times.DAY
        if not self.chance(3):
            first["webOrderLineItemId"] = self.random.choice(["0", "71", "72"])
        return first

    def again(self, known):
        """A copy of what is known, or what was added to it: nearly the same, now and then."""
        first = dict(known)
        if self.chance(3):
            first["purchaseDate"] += self.random.choice([250, 999, times.DAY, 5 * times.DAY])
        if "expiresDate" in first and self.chance(2):
            first["additionalTransactionReason"] = "SEAT_ADDITION"
        if self.chance(3):
            first.pop("webOrderLineItemId", None)
        return first

    def revision(self, first, place):
        event = self.signed(place)
        payload = dict(first)
        if "expiresDate" in payload and self.chance(6):
            payload["expiresDate"] += self.random.choice([400, times.DAY, 3 * times.DAY])
        if self.chance(20):
            payload.pop("expiresDate", None)
        if self.chance(3):
            payload["revocationDate"] = self.day(0, 80)
            if not self.chance(3):
                payload["revocationPercentage"] = self.random.choice([0, 33_333, 50_000, 100_001])
        if self.chance(6):
            event["track"] = RECEIPT
            payload.pop("additionalTransactionReason", None)
            for date in [key for key in payload if key.endswith("Date")]:
                payload[date] -= payload[date] % 1000
        else:
            self.add_what_only_a_jws_says(event, payload)
        event["transaction"] = payload
        if self.chance(8):
            event["renewalInfo"] = self.renewal(payload["originalTransactionId"])
        return event

    def add_what_only_a_jws_says(self, event, payload):
        if self.chance(6):
            # Apple signs a transaction again when seats are added to its period.
            payload.pop("additionalTransactionReason", None)
        elif "expiresDate" in payload and self.chance(8):
            payload["additionalTransactionReason"] = "SEAT_ADDITION"
        if not self.chance(3):
            payload["transactionReason"] = self.random.choice(["PURCHASE", "PURCHASE", "RENEWAL"])
        if "expiresDate" in payload and self.chance(4):
            payload["revokedSeatQuantity"] = self.random.randint(0, 2)
        if "expiresDate" in payload and self.chance(4):
            payload["multiSeatInfo"] = self.random.choice([{}, {"revokedSeatQuantity": 1}])
        if self.chance(2):
            shared = ["PURCHASED", "PURCHASED", "FAMILY_SHARED", "ASSIGNED"]
            payload["inAppOwnershipType"] = self.random.choice(shared)
        if self.chance(3):
            payload["isUpgraded"] = True
        if not self.is_shared and not self.chance(3):
            payload["appAccountToken"] = self.random.choice([*TOKENS.values(), NIL_UUID])
        if self.chance(2):
            payload["appTransactionId"] = self.random.choice(["701", "702"])
        if self.chance(5):
            payload["advancedCommerceInfo"] = {
                "items": [self.item(), self.item(), {"SKU": "nobody.knows"}]
            }
        if self.chance(2 if self.is_shared else 5):
            event["userID"] = self.random.choice(["anna", "fred", "gina"])
            if not self.chance(5):
                event["posted"] = times.text(self.day(0, 70))

    def item(self):
        item = {"SKU": self.random.choice(["sku", "gift"])}
        if not self.chance(4):
            item["price"] = self.random.choice([0, 999, 3000])
        if self.chance(3):
            item["revocationDate"] = self.day(0, 80)
        elif self.chance(2):
            item["refunds"] = [self.refund() for _ in range(self.random.randint(1, 2))]
        return item

    def refund(self):
        kind = self.random.choice(["FULL", "PRORATED", "CUSTOM"])
        refund = {"refundType": kind, "refundDate": self.day(0, 80)}
        if not self.chance(4):
            refund["refundAmount"] = self.random.choice([0, 333, 500, 2999])
        return refund

    def renewal(self, original):
        info = {"originalTransactionId": original, "autoRenewStatus": self.random.randint(0, 1)}
        if self.chance(2):
            info["autoRenewProductId"] = self.random.choice(["basic", "pro"])
        if self.chance(2):
            info["isInBillingRetryPeriod"] = self.chance(2)
        if self.chance(2):
            info["priceIncreaseStatus"] = self.random.randint(0, 2)
        if self.chance(3):
            info["expirationIntent"] = self.random.randint(-1, 7)
        if not self.chance(3):
            ended = self.day(0, 60)
            info["gracePeriodExpiresDate"] = ended + self.random.randint(-1, 6) * times.DAY
            if not self.chance(3):
                info["renewalDate"] = ended
        if self.chance(3):
            info["appAccountToken"] = self.random.choice([*TOKENS.values(), NIL_UUID]).upper()
        if self.chance(4):
            info["appTransactionId"] = "701"
        return info

    def signed(self, place):
        """Few dates, so that many are equal: then the greater content hash decides."""
        return {"signed": times.text(self.signing + self.random.randint(1, 4) * 1000), **place}
