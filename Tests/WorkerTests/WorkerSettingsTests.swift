import Settings
import Testing
import Worker

@Suite struct WorkerSettingsTests {
    private func values(_ environment: [String: String], file: String = "{}") throws -> SettingsValues {
        try WorkerSettings.schema(adding: [], otherSections: ["apps", "linking"]).read(
            environment: ["KAFKA_BOOTSTRAP": "a:1,b:2"].merging(environment) { $1 },
            file: SettingsFile(path: "settings.json", bytes: Array(file.utf8)))
    }

    @Test func `the properties of a consumer come from the settings`() throws {
        let properties = try values([
            "KAFKA_INSTANCE_ID": "verify-1", "KAFKA_SESSION_TIMEOUT": "6s", "RDKAFKA_SECURITY_PROTOCOL": "SSL",
        ]).consumerProperties(.fake("verify"))
        #expect(
            properties == [
                "bootstrap.servers": "a:1,b:2", "client.id": "verify-1", "group.id": "entitlements.verify",
                "group.instance.id": "verify-1", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500",
                "security.protocol": "SSL",
            ])
    }

    @Test func `without an instance ID a worker is no static member`() throws {
        let properties = try values([:]).consumerProperties(.fake("dedupe"))
        #expect(properties["group.instance.id"] == nil)
        #expect(properties["client.id"] == "dedupe-worker")
        #expect(properties["session.timeout.ms"] == "45000")
    }

    @Test func `one file serves several programs, its own section checked`() throws {
        let shared = #"{"apps": [], "linking": {"mode": "identity"}, "http": {"port": 0}}"#
        #expect(try values([:], file: shared)[WorkerSettings.httpPort] == 0)
        #expect(throws: SettingsError.self) { try values([:], file: #"{"http": {"prot": 0}}"#) }
        #expect(throws: SettingsError.self) { try values([:], file: #"{"htpp": {}, "x": 1}"#) }
    }

    @Test func `delays that contradict each other are a problem`() throws {
        let contradicting = try values(["RETRY_DELAY_MIN": "10s", "RETRY_DELAY_MAX": "1s"])
        #expect(WorkerSettings.problems(contradicting).map(\.setting) == ["retry.delay_min"])
        #expect(WorkerSettings.problems(try values([:])).isEmpty)
    }

    @Test func `help fits a terminal`() {
        let help = WorkerSettings.schema(adding: []).help
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }
}
