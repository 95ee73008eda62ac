import AppStore

/// A body that somebody posts to make the worker work, and the good one that it is measured by.
struct HostileBody: Sendable {
    /// What a good body of about the same size and kind costs.
    enum Yardstick: String, Sendable {
        /// One signed transaction of about 5 kB, its chain known.
        case record
        /// The same with a chain that is verified anew.
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
    }

    let name: String
    /// One, or several that take turns.
    let bodies: [[UInt8]]
    let reason: RefusalReason
    let yardstick: Yardstick
    /// Of the yardstick's cost, at most.
    let bound: Double

    init(
        _ name: String,
        _ bodies: [[UInt8]],
        _ reason: RefusalReason,
        by yardstick: Yardstick = .record,
        bound: Double = 1.2
    ) {
        self.name = name
        self.bodies = bodies
        self.reason = reason
        self.yardstick = yardstick
        self.bound = bound
    }

    init(
        _ name: String,
        _ body: [UInt8],
        _ reason: RefusalReason,
        by yardstick: Yardstick = .record,
        bound: Double = 1.2
    ) {
        self.init(name, [body], reason, by: yardstick, bound: bound)
    }
}
