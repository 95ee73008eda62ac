package import AppStore

/// The consumed share of a purchase, in milliunits, rounded down: never more than what is known.
package enum Consumption {
    /// The share of a period that has passed; all of a period without an end.
    package static func share(of period: Period, until instant: Timestamp) -> Int32 {
        guard let end = period.end else { return Revocation.wholePercentage }
        let used = min(instant, end).milliseconds - period.start.milliseconds
        return share(used, of: end.milliseconds - period.start.milliseconds)
    }

    /// A user's spending in one currency.
    package struct Debit: Hashable, Sendable {
        package var currency: Identifier
        package var amount: Int64
        package var date: Timestamp

        package init(currency: Identifier, amount: Int64, date: Timestamp) {
            self.currency = currency
            self.amount = amount
            self.date = date
        }
    }

    /// The spent share of a transaction's credits: each debit spends the oldest credits that are left.
    ///
    /// A refund takes back what is left of its own credit. A debit beyond all credits spends nothing else. Of several
    /// currencies the mean of the shares counts.
    ///
    /// - Parameter credits: the credits of the user in the transaction's currencies.
    package static func share(of transactionID: Identifier, credits: [LedgerCredit], debits: [Debit]) -> Int32 {
        let currencies = Set(credits.lazy.filter { $0.transactionID == transactionID }.map(\.currency))
        guard !currencies.isEmpty else { return 0 }
        var sum: Int64 = 0
        for currency in currencies {
            let credits = credits.filter { $0.currency == currency }
            let spent = spent(credits, debits.filter { $0.currency == currency })
            var (own, whole): (Int64, Int64) = (0, 0)
            for (credit, spent) in zip(credits, spent) where credit.transactionID == transactionID {
                own = own.addingReportingOverflow(spent).partialValue
                whole = Int64(clamping: Int128(whole) + Int128(credit.amount))
            }
            sum += Int64(share(own, of: whole))
        }
        return Int32(sum / Int64(currencies.count))
    }

    private enum Event {
        case credit(Int)
        case refund(Int)
        case debit(Int64)

        /// The order at one instant, that of `ledger_history`.
        var place: Int {
            switch self {
            case .credit: 1
            case .refund: 2
            case .debit: 3
            }
        }
    }

    /// The spent amount of each credit.
    private static func spent(_ credits: [LedgerCredit], _ debits: [Debit]) -> [Int64] {
        var events: [(date: Timestamp, event: Event, id: Identifier)] = []
        for (index, credit) in credits.enumerated() {
            events.append((credit.purchaseDate, .credit(index), credit.transactionID))
            guard let date = credit.revocationDate else { continue }
            events.append((max(date, credit.purchaseDate), .refund(index), credit.transactionID))
        }
        for debit in debits { events.append((debit.date, .debit(debit.amount), "")) }
        events.sort { ($0.date, $0.event.place, $0.id) < ($1.date, $1.event.place, $1.id) }
        var left = [Int64](repeating: 0, count: credits.count)
        var spent = left
        var queue: [Int] = []
        var oldest = 0
        for (_, event, _) in events {
            switch event {
            case .credit(let index):
                left[index] = credits[index].amount
                queue.append(index)
            case .refund(let index): left[index] = max(0, left[index] - credits[index].takenBack)
            case .debit(var amount):
                while amount > 0, oldest < queue.count {
                    let part = min(amount, left[queue[oldest]])
                    left[queue[oldest]] -= part
                    spent[queue[oldest]] += part
                    amount -= part
                    if left[queue[oldest]] == 0 { oldest += 1 }
                }
            }
        }
        return spent
    }

    private static func share(_ part: Int64, of whole: Int64) -> Int32 {
        guard whole > 0, part > 0 else { return 0 }
        let share = Int128(part) * Int128(Revocation.wholePercentage) / Int128(whole)
        return Int32(min(share, Int128(Revocation.wholePercentage)))
    }
}
