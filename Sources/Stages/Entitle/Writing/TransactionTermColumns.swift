import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The columns of `transactions` that may be signed otherwise later, in the order of `FactWriting`.
struct TransactionTermColumns {
    private var expiresDates = PostgresArray(of: .int8)
    private var revocationDates = PostgresArray(of: .int8)
    private var percentages = PostgresArray(of: .int8)
    private var reasons = PostgresArray(of: .int8)
    private var revocationTypes = PostgresArray(of: .text)
    private var revokingDates = PostgresArray(of: .int8)
    private var revokingHashes = PostgresArray(of: .bytea)
    private var upgrades = PostgresArray(of: .bool)
    private var familyShares = PostgresArray(of: .bool)
    private var groups = PostgresArray(of: .text)
    private var tokens = PostgresArray(of: .text)
    private var appTransactions = PostgresArray(of: .text)
    private var items = PostgresArray(of: .json)

    mutating func append(_ fact: TransactionFact) {
        expiresDates.append(fact.expiresDate?.milliseconds)
        revocationDates.append(fact.revocation?.date.milliseconds)
        percentages.append(fact.revocation?.percentage.map(Int64.init))
        reasons.append(fact.revocation?.reason.map(Int64.init))
        revocationTypes.append(fact.revocation?.type)
        let revoking = fact.track == .receipt ? fact.revoking : nil
        revokingDates.append(revoking?.signedDate.milliseconds)
        revokingHashes.append(revoking?.contentHash.bytes)
        upgrades.append(fact.isUpgraded)
        familyShares.append(fact.isFamilyShared)
        groups.append(fact.subscriptionGroupID)
        tokens.append(fact.appAccountToken?.canonical)
        appTransactions.append(fact.appTransactionID)
        items.append(CommerceItem.stored(fact.items))
    }

    var columns: [PostgresArray] {
        [
            expiresDates, revocationDates, percentages, reasons, revocationTypes, revokingDates,
            revokingHashes, upgrades, familyShares, groups, tokens, appTransactions, items,
        ]
    }
}
