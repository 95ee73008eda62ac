import Settings
import Testing

@Suite struct KafkaPropertyTests {
    @Test func `properties pass through from environment and file, the environment winning`() throws {
        let values = try Example.read(
            ["RDKAFKA_SECURITY_PROTOCOL": "SASL_SSL", "RDKAFKA_LINGER_MS": "5"],
            file: #"{"rdkafka": {"linger.ms": 1, "ssl": {"ca": {"location": "/ca.pem"}}}}"#)
        #expect(
            values.kafkaProperties == ["security.protocol": "SASL_SSL", "linger.ms": "5", "ssl.ca.location": "/ca.pem"])
    }

    @Test func `a password comes from a file`() throws {
        let file = try TemporaryFile("hunter2\n")
        let values = try Example.read(["RDKAFKA_SASL_PASSWORD_FILE": file.path])
        #expect(values.kafkaProperties == ["sasl.password": "hunter2"])
        #expect(!values.report.contains("hunter2"))
        #expect(values.report.contains("rdkafka.sasl.password = ********"))
    }

    @Test(arguments: [
        "group.id", "group.instance.id", "client.id", "session.timeout.ms", "heartbeat.interval.ms",
        "bootstrap.servers", "metadata.broker.list",
    ]) func `the setting to which a refusal refers exists`(property: String) throws {
        let reason = try #require(KafkaPropertyRefusals.reason(for: property))
        let setting = try #require(reason.split(separator: " ").last)
        #expect(WorkerSettings.declarations.contains { $0.name == setting }, "\(reason)")
    }

    @Test(arguments: [
        "enable.auto.commit", "enable.auto.offset.store", "acks", "enable.idempotence", "auto.offset.reset",
        "partition.assignment.strategy", "group.id", "bootstrap.servers",
    ]) func `what a promise rests on is refused with the reason`(name: String) {
        let variable = "RDKAFKA_" + name.uppercased().split(separator: ".").joined(separator: "_")
        let problems = Example.problems([variable: "1"])
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("rdkafka.\(name) (environment \(variable)): refused: ") == true)
    }
}
