package import Kafka
import OpenSSL
import Synchronization

/// Passwords and certificates that are replaced while clients use them.
///
/// Connected clients can switch to a new user name and password without disconnecting, so the group
/// does not rebalance. For a new certificate every client must be recreated.
package final class KafkaSecrets: Sendable {
    private struct State {
        var identity: KafkaIdentity
        /// Digests of the certificates that the clients use.
        ///
        /// `nil` if they are unknown, because the files did not match when the clients were created.
        var certificates: [SHA256Digest?]?
    }

    private let state: Mutex<State>
    private let signIn: @Sendable (KafkaAdmin) async throws(KafkaError) -> Void

    /// Creates the state, assuming that the clients use the present contents of the files.
    ///
    /// - Parameters:
    ///   - properties: the librdkafka properties of a client.
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

    /// The files of certificates and keys that librdkafka itself reads.
    package static func files(_ properties: [String: String]) -> [String] {
        ["ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"].compactMap {
            properties[$0]
        }
    }

    /// Applies changed properties after a client has signed in with them; only one task may call
    /// this at a time.
    ///
    /// - Parameter properties: the current librdkafka properties of a client.
    /// - Returns: whether every client must be recreated.
    /// - Throws: an error if no client can be created with the properties (for example if key and
    ///   certificate do not match), or no broker answers. The former properties then stay in use.
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
