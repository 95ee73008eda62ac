"""Facts from signed events: which revision of each counts (Sources/Rules/Entitlements/RULES.md, Facts)."""

import hashlib

JWS, RECEIPT = "jws", "receipt"
# When a record without a time was posted: after all others.
NEVER = float("inf")
NOT_HASHED = ("signedDate", "deviceVerification", "deviceVerificationNonce")


def content_hash(members):
    """SHA-256 over the members sorted by key, each value in its original bytes.

    `members` maps a key to the value's text as it was signed.
    """
    kept = sorted(key.encode() for key in members if key not in NOT_HASHED)
    canonical = b",".join(b'"' + key + b'":' + members[key.decode()].encode() for key in kept)
    return hashlib.sha256(b"{" + canonical + b"}").digest()


class Facts:
    """The set of facts, whatever the order and number of events."""

    def __init__(self):
        self.transactions = {}  # (environment, bundle, id) -> track -> (revision, event)
        self.revocations = {}  # (environment, bundle, id) -> (revision, event) of a receipt
        self.named = {}  # (key of a transaction or renewal info, member) -> (revision, payload)
        self.renewals = {}  # (environment, original, trust) -> (revision, event)
        self.infos = {}  # (environment, original, trust) -> the payload of every renewal info
        self.claims = {}  # purchase -> {(purchase date, id, (posted, position), user)}
        self.position = 0

    def add(self, event):
        self.position += 1
        if event.renewal is not None:
            self.add_renewal(event)
        if event.transaction is not None:
            self.add_transaction(event)

    def revision(self, event, payload):
        """Of two the greater counts: newest signed date, of equal dates the greater hash."""
        return (event.signed, content_hash(payload.text))

    def add_transaction(self, event):
        payload = event.transaction
        tracks = self.transactions.setdefault(payload.key(event), {})
        revision = self.revision(event, payload)
        if event.track not in tracks or tracks[event.track][0] < revision:
            tracks[event.track] = (revision, event)
        if event.track == JWS:
            self.add_names(payload.key(event), revision, payload)
        if event.track == RECEIPT and payload.get("revocationDate") is not None:
            known = self.revocations.get(payload.key(event))
            if known is None or known[0] < revision:
                self.revocations[payload.key(event)] = (revision, event)
        if event.user_id:
            named = (payload["purchaseDate"], payload["transactionId"])
            claim = named + ((event.posted, self.position), event.user_id)
            self.claims.setdefault(payload.purchase(event), set()).add(claim)

    def add_renewal(self, event):
        payload = event.renewal
        key = (event.environment, payload["originalTransactionId"], event.trust)
        revision = self.revision(event, payload)
        if key not in self.renewals or self.renewals[key][0] < revision:
            self.renewals[key] = (revision, event)
        self.add_names(key, revision, payload)
        self.infos.setdefault(key, []).append(payload)

    def add_names(self, key, revision, payload):
        """Absence withdraws nothing: of the revisions that name one the greatest counts."""
        for name in (account_token, app_transaction):
            known = self.named.get((key, name))
            if name(payload) is not None and (known is None or known[0] < revision):
                self.named[key, name] = (revision, payload)

    def name(self, key, name):
        """The account token or appTransactionId of a transaction or a renewal info."""
        named = self.named.get((key, name))
        return name(named[1]) if named else None


NIL_UUID = "00000000-0000-0000-0000-000000000000"


def account_token(payload):
    """Some clients send the nil UUID where they have no token."""
    token = (payload.get("appAccountToken") or "").lower()
    return token if token not in ("", NIL_UUID) else None


def app_transaction(payload):
    return payload.get("appTransactionId")


class Transaction:
    """One transaction, made of what a JWS and what a receipt says of it."""

    def __init__(self, key, facts):
        tracks, revoking = facts.transactions[key], facts.revocations.get(key)
        self.trusts = {event.trust for _, event in tracks.values()}
        jws, receipt = tracks.get(JWS), tracks.get(RECEIPT)
        (signed, _), event = jws or receipt
        self.signed = signed
        payload = event.transaction
        self.id = payload["transactionId"]
        self.product = payload["productId"]
        self.purchased = payload["purchaseDate"]
        self.type = payload.get("type")
        self.quantity = max(1, payload.get("quantity") or 1)
        self.expires = payload.get("expiresDate")
        # No receipt lifts what another took back: the newest counts that took something back.
        stated = payload if jws or not revoking else revoking[1].transaction
        self.revoked = stated.get("revocationDate")
        self.percentage = percentage(stated)
        self.is_upgraded = bool(payload.get("isUpgraded"))
        self.items = (payload.get("advancedCommerceInfo") or {}).get("items") or []
        self.line = line_item(payload)
        self.reason = payload.get("additionalTransactionReason")
        self.added = bool(self.reason)
        self.seats_revoked = seats_revoked(payload)
        self.ownership_type = payload.get("inAppOwnershipType")
        self.ownership = self.ownership_type or "PURCHASED"
        self.is_renewal = payload.get("transactionReason") not in (None, "PURCHASE")
        # A receipt carries neither.
        self.token = facts.name(key, account_token)
        self.app_transaction = facts.name(key, app_transaction)
        if jws and receipt:
            self.take_up(receipt[1].transaction, receipt[0][0] > signed)
        if jws and revoking and revoking[0][0] > signed:
            self.take_back(revoking[1].transaction)
        newest = max(revision[0] for revision, _ in tracks.values())
        self.start = self.purchased if self.is_renewal else min(self.purchased, newest)

    def take_up(self, receipt, is_newer):
        """Where both know a field the newer decides."""
        self.type = self.type or receipt.get("type")
        if line_item(receipt) is not None and (is_newer or self.line is None):
            self.line = line_item(receipt)
        if receipt.get("expiresDate") is not None and (is_newer or self.expires is None):
            self.expires = finer(receipt["expiresDate"], self.expires)

    def take_back(self, receipt):
        """A receipt newer than the JWS adds a revocation, and never lifts one."""
        self.revoked = finer(receipt["revocationDate"], self.revoked)
        added = percentage(receipt)
        self.percentage = self.percentage if added is None else added

    @property
    def order(self):
        return (self.purchased, self.id)


def finer(date, signed):
    """A receipt knows whole seconds: within the same one the JWS's date is the finer."""
    return signed if signed is not None and signed // 1000 == date // 1000 else date


def line_item(payload):
    """Xcode writes 0 for every transaction."""
    value = payload.get("webOrderLineItemId")
    return None if value == "0" else value


def seats_revoked(payload):
    """0 for a multiseat purchase of which no seat was taken back, None for any other."""
    seats = payload.get("multiSeatInfo")
    within = None if seats is None else seats.get("revokedSeatQuantity", 0)
    return payload.get("revokedSeatQuantity", within)


def percentage(payload):
    """Milliunits of the price that went back; None is all of it, as is what cannot be."""
    value = payload.get("revocationPercentage")
    is_share = payload.get("revocationDate") is not None and value is not None
    return value if is_share and 0 <= value <= 100_000 else None
