/// What another session sent with NOTIFY on a channel that this connection listens to.
package struct PostgresNotification: Hashable, Sendable {
    package let channel: String
    package let payload: String
    package let senderProcessID: Int32
}
