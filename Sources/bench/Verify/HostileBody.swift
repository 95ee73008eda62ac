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
        /// A receipt of a hundred records.
        case receipt
    }

    let name: String
    let body: [UInt8]
    let reason: RefusalReason
    let yardstick: Yardstick
    /// Of the yardstick's cost, at most.
    let bound: Double

    init(
        _ name: String,
        _ body: [UInt8],
        _ reason: RefusalReason,
        by yardstick: Yardstick = .record,
        bound: Double = 1.2
    ) {
        self.name = name
        self.body = body
        self.reason = reason
        self.yardstick = yardstick
        self.bound = bound
    }
}
