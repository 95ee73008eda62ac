/// What has to hold before a worker is ready.
package struct HealthCondition: Hashable, Sendable {
    /// One word, as readiness and its metric spell it.
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    /// The consumer group has given this worker its partitions, be they none.
    package static let assigned = HealthCondition("assigned")
    /// The broker answers.
    package static let broker = HealthCondition("broker")
    /// The database answers.
    package static let database = HealthCondition("database")
    /// The breaker against wrong settings has not tripped.
    package static let breaker = HealthCondition("breaker")
}
