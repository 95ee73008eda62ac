import JSON
import Postgres

/// What the app's own servers took from a balance.
struct ExplainedDebit {
    let reference: String
    let currency: String
    let amount: Int64
    let debitedAt: Int64

    static let columns = "reference, currency, amount, debited_at"

    init(_ row: PostgresRow) {
        reference = row.text(0)
        currency = row.text(1)
        amount = row.int8(2)
        debitedAt = row.timestamp(3)
    }

    var phrase: String {
        "spent \(amount) \(currency) for \(reference), "
            + CalendarDate.instant(milliseconds: debitedAt)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("reference", reference)
            writer.member("currency", currency)
            writer.member("amount", amount)
            writer.member("debitedAt", debitedAt)
        }
    }
}
