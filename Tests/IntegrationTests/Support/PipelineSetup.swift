import Entitlements
import Records
import Simulation
import Postgres
import TestSupport
import Worker

/// The parameters of a test's pipeline.
struct PipelineSetup: Sendable {
    var kafka: KafkaCluster.Kind
    /// A cluster that the test itself stops.
    ///
    /// `nil` for the one of this run.
    var ownCluster: KafkaCluster?
    /// A server that the test itself stops.
    ///
    /// `nil` for a database on the one of this run.
    var ownServer: PrivatePostgres?
    /// The database on the test's own server, created unless it is the server's first one.
    var database = "postgres"
    /// The schema version of the database.
    ///
    /// `nil` for the newest.
    var schemaVersion: Int?
    var partitions: Int32 = 4
    /// The mock holds a first join for 3 s and loses members whose session ends before.
    var sessionTimeout: Duration = .seconds(10)
    /// Whether workers keep their partitions over a restart; the mock knows no such members.
    var hasStaticMembers = false
    /// Whether the setup makes the topics; `false` leaves them to the test.
    var makesTopics = true
    /// Replaces the limits of the product's own layout, by topic without prefix.
    var recordBytesMax: [String: Int] = [:]
    /// The codec of the raw topic.
    ///
    /// `nil` for the one of the product's own layout.
    var rawCodec: String?
    /// A dead letter of a larger value has to leave it out.
    var deadLetterValueBytesMax = DeadLetterContext.recordBytesMaxDefault - 4_096
    /// The rules by which owners are found.
    var rules = OwnershipRules()
    /// Settings of the workers beside those that every pipeline has, by environment name.
    var environment: [String: String] = [:]
    /// Variables of one worker alone, which override the others.
    var environmentOf: [StageDescription: [String: String]] = [:]

    init(_ kafka: KafkaCluster.Kind) { self.kafka = kafka }
}
