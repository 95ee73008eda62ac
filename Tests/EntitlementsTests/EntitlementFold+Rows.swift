import AppStore
import Entitlements
import TestSupport

extension EntitlementFold {
    /// The periods by user and key.
    ///
    /// A key outside Production has its environment as a prefix.
    func periodsByUserAndKey() -> [Identifier: [Identifier: PeriodSet]] {
        var periods: [Identifier: [Identifier: PeriodSet]] = [:]
        for (purchase, projected) in projected {
            let isProduction = purchase.environment == .production
            let prefix = isProduction ? "" : purchase.environment.rawValue + "/"
            for row in projected.rows {
                periods[row.userID, default: [:]]["\(prefix)\(row.key)", default: PeriodSet()].formUnion(row.periods)
            }
        }
        return periods
    }

    func terms() -> HeldTerms {
        var terms: HeldTerms = [:]
        for (purchase, projected) in projected {
            let isProduction = purchase.environment == .production
            let prefix = isProduction ? "" : purchase.environment.rawValue + "/"
            for row in projected.rows {
                let (key, original) = ("\(prefix)\(row.key)", purchase.originalTransactionID)
                terms[row.userID, default: [:]][Identifier(key), default: [:]][original] = row.terms
            }
        }
        return terms
    }

    /// The balances by user and currency.
    ///
    /// A currency outside Production has its environment as a prefix.
    func balances() -> [Identifier: [Identifier: Int64]] {
        var balances: [Identifier: [Identifier: Int64]] = [:]
        for (purchase, projected) in projected {
            let isProduction = purchase.environment == .production
            let prefix = isProduction ? "" : purchase.environment.rawValue + "/"
            for credit in projected.credits {
                balances[credit.userID, default: [:]]["\(prefix)\(credit.currency)", default: 0] += credit.balance
            }
        }
        return balances
    }
}
