import AppStore

/// A body that an attacker posts to cost the worker time, and the good one that it is measured by.
struct HostileCase: Sendable {
    /// The good body, of about the same size and kind, that a hostile one is compared with.
    enum Yardstick: String, Sendable {
        /// A signed transaction of about 5 kB with a known chain.
        case record
        /// The same transaction with an unknown leaf below a known intermediate.
        case newLeaf = "record, new leaf"
        /// The same transaction with an unknown chain.
        case newChain = "record, new chain"
        /// An API response of a hundred transactions, about half a megabyte.
        case response
        /// A notification with a transaction and a renewal info inside.
        case notification
        /// A receipt of a hundred records.
        case receipt
        /// A receipt of one record.
        case smallReceipt = "receipt of one"
        /// A receipt of five hundred records, above 80 kB.
        case largeReceipt = "large receipt"

        /// Maximum certificate signatures verified for a hostile body of this kind.
        var signaturesMax: Int {
            switch self {
            case .record, .response, .notification: 0
            case .newLeaf, .newChain, .receipt, .smallReceipt, .largeReceipt: 1
            }
        }
    }

    let name: String
    /// The body, or several bodies that take turns.
    let bodies: [[UInt8]]
    let reason: RefusalReason
    let yardstick: Yardstick
    /// Maximum certificate signatures verified for a body that was verified before.
    let signaturesMax: Int

    init(
        _ name: String, _ bodies: [[UInt8]], _ reason: RefusalReason, by yardstick: Yardstick = .record,
        signaturesMax: Int? = nil
    ) {
        self.name = name
        self.bodies = bodies
        self.reason = reason
        self.yardstick = yardstick
        self.signaturesMax = signaturesMax ?? yardstick.signaturesMax
    }

    /// Bodies that are each compared with one good body.
    static func all(by yardstick: Yardstick = .record, _ rows: [(String, [UInt8], RefusalReason)]) -> [HostileCase] {
        rows.map { name, body, reason in HostileCase(name, [body], reason, by: yardstick) }
    }
}
