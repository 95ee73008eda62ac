import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The columns of `transactions` that name it and its revision, in the order of `FactWriting`.
struct TransactionKeyColumns {
    private var ids = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var tracks = PostgresArray(of: .text)
    private var signedDates = PostgresArray(of: .int8)
    private var hashes = PostgresArray(of: .bytea)
    private var trusts = PostgresArray(of: .text)
    private var originals = PostgresArray(of: .text)
    private var products = PostgresArray(of: .text)
    private var purchaseDates = PostgresArray(of: .int8)
    private var types = PostgresArray(of: .text)
    private var quantities = PostgresArray(of: .int8)

    mutating func append(_ fact: TransactionFact) {
        ids.append(fact.key.transactionID)
        environments.append(fact.key.environment.rawValue)
        bundleIDs.append(fact.key.bundleID)
        tracks.append(fact.track.rawValue)
        signedDates.append(fact.revision.signedDate.milliseconds)
        hashes.append(fact.revision.contentHash.bytes)
        trusts.append(fact.trust.text)
        originals.append(fact.identity.originalTransactionID)
        products.append(fact.identity.productID)
        purchaseDates.append(fact.identity.purchaseDate.milliseconds)
        types.append(fact.identity.type?.rawValue)
        quantities.append(fact.identity.quantity.map(Int64.init))
    }

    /// What names a transaction, and what never changes for it.
    var identity: [PostgresArray] {
        [
            ids, environments, bundleIDs, tracks, originals, products, purchaseDates, types,
            quantities,
        ]
    }

    var columns: [PostgresArray] {
        [
            ids, environments, bundleIDs, tracks, signedDates, hashes, trusts, originals, products,
            purchaseDates, types, quantities,
        ]
    }
}
