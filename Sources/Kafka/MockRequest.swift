/// The requests that a mock cluster can be told to fail, by their number in Kafka's protocol.
package enum MockRequest: Int16, Sendable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case joinGroup = 11
    case heartbeat = 12
    case initProducerID = 22
}
