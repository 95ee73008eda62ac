import Foundation
import Kafka
import Settings
import TestSupport
import Testing

/// Files of certificates that are replaced, one after the other.
@Suite struct KafkaSecretsTests {
    @Test func `clients are renewed for another pair, and for any after one that does not fit`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "kafka-secrets-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificates = try await TestCertificates(in: folder)
        let (former, new) = (try await certificates.issue("former"), try await certificates.issue("new"))
        let (certificate, key) = (folder.appending(path: "in-use.crt"), folder.appending(path: "in-use.key"))
        func install(_ path: String, at place: URL) throws {
            try Data(contentsOf: URL(filePath: path)).write(to: place, options: .atomic)
        }
        let properties = [
            "bootstrap.servers": "127.0.0.1:1", "security.protocol": "ssl", "ssl.ca.location": certificates.authority,
            "ssl.certificate.location": certificate.path, "ssl.key.location": key.path,
        ]
        try install(former.certificate, at: certificate)
        try install(former.key, at: key)
        // No broker listens.
        let secrets = KafkaSecrets(properties, signIn: { _ in })
        #expect(try await !secrets.follow(properties))

        try install(new.certificate, at: certificate)
        for _ in 0..<2 { await #expect(throws: KafkaError.self) { try await secrets.follow(properties) } }
        try install(new.key, at: key)
        #expect(try await secrets.follow(properties))
        #expect(try await !secrets.follow(properties))

        // A client that was made between the two may have met either.
        try install(former.key, at: key)
        await #expect(throws: KafkaError.self) { try await secrets.follow(properties) }
        try install(new.key, at: key)
        #expect(try await secrets.follow(properties))
        #expect(try await !secrets.follow(properties))
    }

    @Test(.needsRealKafka) func `a password that brokers refuse replaces none`() async throws {
        try await SecureKafka.lend { kafka in
            let good = try kafka.properties("admin", .plain)
            let wrong = good.merging(["sasl.password": "mistyped"]) { $1 }
            let secrets = KafkaSecrets(good)
            for _ in 0..<2 {
                await #expect(throws: KafkaError.self) { try await secrets.follow(wrong) }
                try await KafkaAdmin.with(good) { _ = try await $0.clusterID(deadline: .seconds(30)) }
            }
            // The one in use, again.
            #expect(try await !secrets.follow(good))
            // Once it has been replaced, the former one is wrong as well.
            KafkaIdentity.replace(KafkaIdentity(wrong), by: KafkaIdentity(good))
            await #expect(throws: KafkaError.self) { try await secrets.follow(wrong) }
        }
    }
}
