/// What an outbox may count on.
package enum OutboxLimits {
    /// How long the producer may try to write a record before it gives it back.
    package static let deliveryMax = Duration.seconds(6)
}
