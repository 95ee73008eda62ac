/// What has to hold before a worker is ready.
package enum HealthCondition: String, Sendable, CaseIterable {
    /// The consumer group has given this worker its partitions, be they none.
    case assigned
    /// The broker answers.
    case broker
    /// The database answers.
    case database
    /// The breaker against wrong settings has not tripped.
    case breaker
    /// No record waits to learn whether its certificates are revoked.
    case revocation
}
