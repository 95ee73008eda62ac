import JSON
import Postgres

/// What a transaction credits to a balance: a row of the ledger.
struct ExplainedCredit {
    let transactionID: String
    let productID: String
    let currency: String
    let userID: String
    let amount: Int64
    let takenBack: Int64
    let revocationDate: Int64?

    /// The columns of `PurchaseReading.credits`, from the third on.
    init(_ row: PostgresRow) {
        transactionID = row.text(2)
        productID = row.text(3)
        currency = row.text(4)
        userID = row.text(5)
        amount = row.int8(6)
        takenBack = row.int8(7)
        revocationDate = row.optionalInt8(8)
    }

    func phrase(isOfOneUser: Bool) -> String {
        var words = ["credits \(amount) \(currency) for \(productID)"]
        if !isOfOneUser { words[0] += " to \(userID)" }
        if let revocationDate {
            let date = CalendarDate.instant(milliseconds: revocationDate)
            words.append("\(takenBack) taken back \(date)")
        }
        return words.joined(separator: ", ")
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("productID", productID)
            writer.member("currency", currency)
            writer.member("userID", userID)
            writer.member("amount", amount)
            writer.member("takenBack", takenBack)
            writer.optional("revocationDate", revocationDate)
        }
    }
}
