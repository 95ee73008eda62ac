import Foundation
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology

/// The certificates and passwords of all holders of rights.
final class Holders: Sendable {
    /// Environments of the workers.
    let environments: [StageDescription: [String: String]]
    private let server: PrivatePostgres
    private let propertiesOf: [String: [String: String]]

    init(_ kafka: SecureKafka, _ server: PrivatePostgres) async throws {
        self.server = server
        // Once: a certificate that is issued again replaces that of a running worker.
        var properties: [String: [String: String]] = [:]
        for name in DatabaseRole.all.map(\.name) + ["verify-worker", "ingestion"] {
            properties[name] = try await kafka.properties(ofUser: name)
        }
        propertiesOf = properties
        var environments: [StageDescription: [String: String]] = [:]
        for stage in Topology.stages {
            environments[stage] = Self.environment(stage.program, properties[stage.program, default: [:]], server)
        }
        self.environments = environments
    }

    /// The settings of our programs with a holder's rights, by environment name.
    func environment(_ holder: String) throws -> [String: String] {
        Self.environment(holder, try properties(holder), server)
    }

    /// The properties of librdkafka with a holder's rights.
    func properties(_ holder: String) throws -> [String: String] {
        try #require(propertiesOf[holder], "\(holder) has no certificate")
    }

    /// A password for each role, which is its name.
    func setPasswords(_ pipeline: RunningPipeline) async throws {
        try await pipeline.withDatabase { connection in
            for role in DatabaseRole.all {
                try await connection.execute(script: "ALTER ROLE \"\(role.name)\" PASSWORD '\(role.name)'")
            }
        }
    }

    private static func environment(_ holder: String, _ properties: [String: String], _ server: PrivatePostgres)
        -> [String: String]
    {
        SecureKafka.environment(properties).merging([
            "DATABASE_URL": "postgresql://\(holder)@127.0.0.1:\(server.port)/postgres", "DATABASE_PASSWORD": holder,
        ]) { $1 }
    }
}
