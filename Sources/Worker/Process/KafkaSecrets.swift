package import Kafka
import OpenSSL
import Settings
import Synchronization

/// Passwords and certificates that are replaced while the clients made of them live.
///
/// A user name and a password reach clients that live: nothing is disconnected, and the group
/// notices nothing. For certificates every client must be recreated.
package final class KafkaSecrets: Sendable {
    private struct State {
        var identity: KafkaIdentity
        /// The certificates that the clients were made of; nil if unknown, because the files did
        /// not match at that time.
        var certificates: [SHA256Digest?]?
    }

    private let state: Mutex<State>

    /// Takes what the files hold now for what the clients were made of.
    ///
    /// - Parameter properties: librdkafka's, of a client.
    package init(_ properties: [String: String]) {
        state = Mutex(
            State(identity: KafkaIdentity(properties), certificates: Self.contents(properties))
        )
    }

    /// The files of certificates and keys that librdkafka reads itself.
    static func files(_ properties: [String: String]) -> [String] {
        [
            "ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
            "ssl.keystore.location",
        ]
        .compactMap { properties[$0] }
    }

    /// Applies changed properties; for one task at a time.
    ///
    /// - Parameter properties: librdkafka's, of a client, as they are now.
    /// - Returns: whether every client must be recreated.
    /// - Throws: if a client cannot be made of them, such as a key that does not belong to its
    ///   certificate; then the former ones stay.
    package func follow(_ properties: [String: String]) throws(KafkaError) -> Bool {
        let (former, identity) = (state.withLock { $0 }, KafkaIdentity(properties))
        let mustRenew =
            !identity.differsInLoginAlone(from: former.identity)
            || Self.contents(properties) != former.certificates
        if mustRenew {
            try check(properties)
        }
        KafkaIdentity.replace(former.identity, by: identity)
        // Before any client is made: what changes while they are made is another replacement.
        let contents = mustRenew ? Self.contents(properties) : former.certificates
        state.withLock { $0 = State(identity: identity, certificates: contents) }
        return mustRenew
    }

    private func check(_ properties: [String: String]) throws(KafkaError) {
        do {
            let admin = try KafkaAdmin(configuration: properties)
            Task { await admin.close() }
        } catch {
            state.withLock { $0.certificates = nil }
            throw error
        }
    }

    private static func contents(_ properties: [String: String]) -> [SHA256Digest?] {
        files(properties).map { FileBytes.read($0).map { SHA256.digest($0) } }
    }
}
