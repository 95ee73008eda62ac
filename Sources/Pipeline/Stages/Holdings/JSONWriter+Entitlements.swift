package import AppStore
package import Entitlements
package import JSON
package import Postgres
package import Store

extension JSONWriter {
    /// Writes periods as half-open spans in UNIX milliseconds; an open end is null.
    package mutating func periods(_ periods: some Sequence<PostgresPeriod>) {
        beginArray()
        for each in periods { period(each) }
        endArray()
    }

    private mutating func period(_ period: PostgresPeriod) {
        beginObject()
        key("start")
        int(period.startMilliseconds)
        key("end")
        if let end = period.endMilliseconds { int(end) } else { null() }
        endObject()
    }

    package mutating func string(orNull identifier: Identifier?) {
        if let identifier { string(identifier) } else { null() }
    }

    /// Writes whether an entitlement with these periods is active at an instant, and until when; no end is null.
    package mutating func activity(of periods: [PostgresPeriod], at instant: StoredTime) {
        let active = periods.active(at: instant)
        key("isActive")
        bool(active != nil)
        guard let active else { return }
        key("activeUntil")
        if let end = active.endMilliseconds { int(end) } else { null() }
    }

    /// Writes an entitlement of a user, as in `entitlements.current` and `outcomes`.
    ///
    /// - Parameter periodsMax: maximum periods to write; the last ones are written.
    mutating func entitlement(_ held: HeldEntitlement, _ asOf: StoredTime, periodsMax: Int) {
        beginObject()
        key("environment")
        string(held.environment)
        key("bundleID")
        string(orNull: held.bundleID)
        key("originalTransactionID")
        string(orNull: held.originalTransactionID)
        if let id = held.grantID {
            key("grantID")
            int(id)
        }
        key("entitlement")
        string(held.key)
        activity(of: held.periods, at: asOf)
        key("periods")
        periods(held.periods.suffix(periodsMax))
        terms(held.terms)
        endObject()
    }

    /// Writes the terms of an entitlement; omits fields that Apple does not state.
    package mutating func terms(_ terms: EntitlementTerms) {
        if let type = terms.ownershipType {
            key("ownershipType")
            string(type.rawValue)
        }
        if let seats = terms.seats {
            key("seats")
            int(seats)
        }
        if let reason = terms.additionalTransactionReason {
            key("additionalTransactionReason")
            string(reason)
        }
        status(terms.status)
    }

    private mutating func status(_ status: SubscriptionStatus) {
        for (name, value) in [("willRenew", status.willRenew), ("isInBillingRetry", status.isInBillingRetry)] {
            guard let value else { continue }
            key(name)
            bool(value)
        }
        optionalString("renewsTo", status.renewsTo?.text)
        optionalString("priceIncrease", status.priceIncrease?.rawValue)
        optionalString("expirationReason", status.expirationReason)
        if let grace = status.grace {
            key("grace")
            period(grace.stored)
        }
    }
}
