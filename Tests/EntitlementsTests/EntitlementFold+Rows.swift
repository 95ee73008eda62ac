import AppStore
import Entitlements
import TestSupport

extension EntitlementFold {
    /// By user, then by key; the key of another environment than Production begins with its name.
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

    /// By user, then by currency; that of another environment than Production begins with its name.
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
