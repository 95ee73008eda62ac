package import Kafka
import OpenSSL
import Synchronization

/// Passwords and certificates that are replaced while clients use them.
///
/// Connected clients can replace a user name and a password: nothing is disconnected, and the group
/// does not rebalance. For a new certificate every client must be recreated.
package final class KafkaSecrets: Sendable {
    private struct State {
        var identity: KafkaIdentity
        /// Digests of the certificates that the clients use; nil if unknown, because the files did
        /// not match when the clients were created.
        var certificates: [SHA256Digest?]?
    }

    private let state: Mutex<State>
    private let signIn: @Sendable (KafkaAdmin) async throws(KafkaError) -> Void

    /// Assumes that the clients use the files' present contents.
    ///
    /// - Parameters:
    ///   - properties: librdkafka's, of a client.
    ///   - signIn: returns once brokers have answered the client.
    package init(
        _ properties: [String: String],
        signIn: @escaping @Sendable (KafkaAdmin) async throws(KafkaError) -> Void = { admin throws(KafkaError) in
            _ = try await admin.clusterID(deadline: .seconds(10))
        }
    ) {
        self.signIn = signIn
        state = Mutex(State(identity: KafkaIdentity(properties), certificates: Self.contents(properties)))
    }

    /// The files of certificates and keys that librdkafka reads itself.
    package static func files(_ properties: [String: String]) -> [String] {
        ["ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"].compactMap {
            properties[$0]
        }
    }

    /// Applies changed properties once a client has signed in with them; for one task at a time.
    ///
    /// - Parameter properties: librdkafka's, of a client, as they are now.
    /// - Returns: whether every client must be recreated.
    /// - Throws: if no client can be created with them, for example because a key does not belong
    ///   to its certificate, or no broker answers it; then the former ones stay.
    package func follow(_ properties: [String: String]) async throws(KafkaError) -> Bool {
        let (former, identity) = (state.withLock { $0 }, KafkaIdentity(properties))
        let mustRenew =
            !identity.differsInLoginAlone(from: former.identity) || Self.contents(properties) != former.certificates
        if mustRenew || identity != former.identity { try await check(properties, isOfCertificates: mustRenew) }
        KafkaIdentity.replace(former.identity, by: identity)
        // The files are read before any client is made: a later change is another replacement.
        let contents = mustRenew ? Self.contents(properties) : former.certificates
        state.withLock { $0 = State(identity: identity, certificates: contents) }
        return mustRenew
    }

    private func check(_ properties: [String: String], isOfCertificates: Bool) async throws(KafkaError) {
        do {
            let admin = try KafkaAdmin(configuration: properties, isOfNewestIdentity: false)
            defer { Task { await admin.close() } }
            try await signIn(admin)
        } catch {
            if isOfCertificates { state.withLock { $0.certificates = nil } }
            throw error
        }
    }

    private static func contents(_ properties: [String: String]) -> [SHA256Digest?] {
        files(properties).map { FileBytes.read($0).map { SHA256.digest($0) } }
    }
}
