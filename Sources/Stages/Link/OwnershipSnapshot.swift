import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The purchases of some scopes, as PostgreSQL knows them.
///
/// A purchase is one that has a transaction: renewal info can add to it, never make it.
struct OwnershipSnapshot {
    private(set) var purchases: [PurchaseKey: PurchaseState] = [:]

    /// - Parameter answers: to `OwnershipReading.statements(scopes)`, in that order.
    init(_ answers: [PostgresRows], scopes: [PurchaseScope]) {
        precondition(answers.count == 4, "four statements have four answers")
        for row in answers[0] {
            add(fact: row, scopes[Int(row.int8(0))])
        }
        let renewals = Self.renewals(answers[1], scopes)
        for key in Array(purchases.keys) {
            purchases[key]?.renewals = renewals[key.scope] ?? []
        }
        for row in answers[2] {
            let key = Self.key(row, scopes)
            purchases[key]?.claims.append(UserClaim(row))
        }
        for row in answers[3] {
            purchases[Self.key(row, scopes)]?.stored = StoredOwner(row)
        }
    }

    private mutating func add(fact row: PostgresRow, _ scope: PurchaseScope) {
        guard let fact = TransactionFact(row, scope) else { return }
        let key = fact.purchaseKey
        purchases[key, default: PurchaseState(key: key)]
            .transactions[fact.key.transactionID, default: [:]][fact.track] = fact
    }

    private static func renewals(
        _ rows: PostgresRows,
        _ scopes: [PurchaseScope]
    ) -> [PurchaseScope: [RenewalFact]] {
        var renewals: [PurchaseScope: [RenewalFact]] = [:]
        for row in rows {
            let scope = scopes[Int(row.int8(0))]
            if let fact = RenewalFact(row, scope) {
                renewals[scope, default: []].append(fact)
            }
        }
        return renewals
    }

    private static func key(_ row: PostgresRow, _ scopes: [PurchaseScope]) -> PurchaseKey {
        let scope = scopes[Int(row.int8(0))]
        return PurchaseKey(
            environment: scope.environment,
            bundleID: row.text(1),
            originalTransactionID: scope.originalTransactionID
        )
    }
}

extension TransactionFact {
    /// The part of a transaction that says whose it is; its product plays no role in that.
    fileprivate init?(_ row: PostgresRow, _ scope: PurchaseScope) {
        guard let track = Track(rawValue: row.text(3)), let hash = SHA256Digest(row.bytes(5)),
            let trust = Trust(text: row.text(6))
        else { return nil }
        let revision = Revision(
            signedDate: Timestamp(milliseconds: row.int8(4)),
            contentHash: hash
        )
        self.init(
            key: TransactionKey(
                environment: scope.environment,
                bundleID: row.text(1),
                transactionID: row.text(2)
            ),
            track: track,
            revision: revision,
            trust: trust,
            identity: TransactionIdentity(
                originalTransactionID: scope.originalTransactionID,
                productID: "",
                purchaseDate: Timestamp(milliseconds: row.int8(7)),
                type: row.optionalText(8).map(ProductType.init(rawValue:))
            ),
            expiresDate: row.optionalInt8(9).map(Timestamp.init(milliseconds:)),
            revocation: row.optionalInt8(10).map {
                Revocation(date: Timestamp(milliseconds: $0))
            },
            olderRevoking: Self.olderRevoking(row, than: revision),
            appAccountToken: row.optionalText(11).flatMap { AccountToken($0) },
            appTransactionID: row.optionalText(12)
        )
    }

    private static func olderRevoking(_ row: PostgresRow, than newest: Revision) -> Revision? {
        guard let date = row.optionalInt8(13), let bytes = row.optionalBytes(14),
            let hash = SHA256Digest(bytes)
        else { return nil }
        let revoking = Revision(
            signedDate: Timestamp(milliseconds: date),
            contentHash: hash
        )
        return revoking == newest ? nil : revoking
    }
}

extension RenewalFact {
    fileprivate init?(_ row: PostgresRow, _ scope: PurchaseScope) {
        guard let trust = Trust(text: row.text(1)), let hash = SHA256Digest(row.bytes(3)) else {
            return nil
        }
        self.init(
            key: RenewalKey(
                environment: scope.environment,
                originalTransactionID: scope.originalTransactionID,
                trust: trust
            ),
            revision: Revision(
                signedDate: Timestamp(milliseconds: row.int8(2)),
                contentHash: hash
            ),
            appAccountToken: row.optionalText(4).flatMap { AccountToken($0) },
            appTransactionID: row.optionalText(5)
        )
    }
}

extension UserClaim {
    fileprivate init(_ row: PostgresRow) {
        self.init(
            transactionID: row.text(2),
            purchaseDate: Timestamp(milliseconds: row.int8(3)),
            position: RawPosition(
                timestamp: Timestamp(milliseconds: row.int8(4)),
                partition: Int32(truncatingIfNeeded: row.int8(5)),
                offset: row.int8(6)
            ),
            userID: row.text(7)
        )
    }
}
