/// Whose fault an error is, which decides what a worker does about it.
package enum PostgresFault: Hashable, Sendable {
    /// The server, the network or another transaction: waiting and trying again is right.
    case infrastructure

    /// A value that PostgreSQL will never take, however often it is sent.
    case record

    /// A missing table, a missing permission, a wrong password: somebody has to act, and until then
    /// waiting is right, because no record is to blame.
    case `operator`

    /// Anything that the table does not name waits: dead-lettering a good record is worse.
    init(_ state: SQLState) {
        switch state.errorClass {
        case "22", "23":
            self = .record
        case "54":
            self = state == .programLimitExceeded ? .record : .operator
        case "0A", "28", "3D", "3F", "42":
            self = .operator
        default:
            self = .infrastructure
        }
    }
}
