"""Scenario files (schemas/scenarios): reading them, and answering them."""

import json

import times
from facts import Facts, JWS, NEVER, Transaction
from owners import Owners, Purchase
from projection import Projection

DECODER = json.JSONDecoder()
SPACE = " \t\r\n"


class Payload:
    """What Apple signs, written out: each value as it is and as the text that is hashed."""

    def __init__(self, short, defaults, signed):
        self.values, self.text = {}, {}
        for key, text in short:
            self.set(key, text)
        for key, value in defaults(self.values):
            if key not in self.values:
                self.set(key, json.dumps(value))
        self.set("signedDate", str(signed))

    def set(self, key, text):
        value = json.loads(text)
        if key.endswith("Date") and isinstance(value, str):
            value = times.instant(value)
            text = str(value)
        self.values[key], self.text[key] = value, text

    def __getitem__(self, key):
        return self.values[key]

    def get(self, key, default=None):
        return self.values.get(key, default)

    def key(self, event):
        return (event.environment, self["bundleId"], self["transactionId"])

    def purchase(self, event):
        return (event.environment, self["bundleId"], self["originalTransactionId"])


class Event:
    """One signed body."""

    def __init__(self, text):
        members = dict(raw_members(text))
        short = {key: json.loads(value) for key, value in members.items()}
        self.signed = times.instant(short["signed"])
        self.environment = short.get("environment", "Production")
        self.trust = short.get("trust", "apple")
        self.track = short.get("track", JWS)
        self.user_id = short.get("userID")
        self.posted = times.instant(short["posted"]) if "posted" in short else NEVER
        self.notification = short.get("notification", {})
        self.transaction = self.payload(members.get("transaction"), self.transaction_defaults)
        self.renewal = self.payload(members.get("renewalInfo"), self.renewal_defaults)

    def payload(self, text, defaults):
        return None if text is None else Payload(raw_members(text), defaults, self.signed)

    def transaction_defaults(self, values):
        return [
            ("originalTransactionId", values["transactionId"]),
            ("bundleId", "com.example.app"),
            ("environment", self.environment),
            ("type", "Auto-Renewable Subscription"),
            ("quantity", 1),
        ]

    def renewal_defaults(self, values):
        return [("environment", self.environment)]


class Links:
    """What operators have linked, and since when."""

    def __init__(self, links):
        self.links = links
        self.tokens = {one["token"].lower(): one["user"] for one in links if "token" in one}
        self.app_transactions = self.by("appTransactionId")
        self.originals = self.by("originalTransactionId")

    def by(self, member):
        return {one[member]: one["user"] for one in self.links if member in one}


class Scenario:
    def __init__(self, text, folder=None):
        """The folder has the catalogs that files share by name."""
        members = dict(raw_members(text))
        self.catalog = json.loads(members["catalog"])
        if isinstance(self.catalog, str):
            self.catalog = json.loads((folder / f"{self.catalog}.json").read_text(encoding="utf-8"))
        self.linking = json.loads(members.get("linking", "{}"))
        self.links = Links(json.loads(members.get("links", "[]")))
        self.fails = json.loads(members.get("fails", "[]"))
        self.events = [Event(one) for one in raw_elements(members["events"])]
        self.expected = {
            "entitlements": json.loads(members["entitlements"]),
            "balances": json.loads(members.get("balances", "{}")),
        }
        if "terms" in members:
            self.expected["terms"] = json.loads(members["terms"])

    @classmethod
    def read(cls, path):
        return cls(path.read_text(encoding="utf-8"), path.parent / "catalogs")


class Reference:
    """The answer to a scenario, rule by rule; a defect overrides one of the rules."""

    facts, owners, projection = Facts, Owners, Projection

    def answer(self, scenario):
        facts = self.facts()
        for event in self.events(scenario):
            facts.add(event)
        purchases = {}
        for key, tracks in facts.transactions.items():
            _, event = next(iter(tracks.values()))
            purchase = event.transaction.purchase(event)
            purchases.setdefault(purchase, []).append(Transaction(key, facts))
        known = [Purchase(key, of, facts) for key, of in purchases.items()]
        owned = self.owners(scenario.links, scenario.linking).of_all(known)
        projection = self.projection(scenario.catalog)
        return {
            "entitlements": self.entitlements(projection.rows(owned)),
            "terms": self.terms(projection.terms(owned)),
            "balances": self.balances(projection.balances(owned)),
        }

    def events(self, scenario):
        return scenario.events

    def entitlements(self, rows):
        answer = {}
        for (user, environment, key), periods in rows.items():
            texts = [
                times.text(start) + "/" + (".." if end is None else times.text(end))
                for start, end in periods
            ]
            answer.setdefault(user, {})[self.prefix(environment) + key] = texts
        return answer

    def terms(self, terms):
        """Without what Apple does not say."""
        answer = {}
        for (user, environment, key), purchases in terms.items():
            answer.setdefault(user, {})[self.prefix(environment) + key] = {
                original: {name: value for name, value in held.items() if value is not None}
                for original, held in purchases.items()
            }
        return answer

    def balances(self, balances):
        answer = {}
        for (user, environment, currency), balance in balances.items():
            answer.setdefault(user, {})[self.prefix(environment) + currency] = balance
        return answer

    @staticmethod
    def prefix(environment):
        return "" if environment == "Production" else environment + "/"


def skip(text, index):
    while text[index] in SPACE:
        index += 1
    return index


def raw_elements(text):
    """The elements of an array, each as the text that stands there."""
    index = skip(text, text.index("[") + 1)
    while text[index] != "]":
        _, end = DECODER.raw_decode(text, index)
        yield text[index:end]
        index = skip(text, end)
        if text[index] == ",":
            index = skip(text, index + 1)


def raw_members(text):
    """The members of an object: the key, and the value as the text that stands there."""
    index = skip(text, text.index("{") + 1)
    while text[index] != "}":
        key, end = DECODER.raw_decode(text, index)
        index = skip(text, skip(text, end) + 1)
        _, end = DECODER.raw_decode(text, index)
        yield key, text[index:end]
        index = skip(text, end)
        if text[index] == ",":
            index = skip(text, index + 1)
