import CRDKafka
import Synchronization

/// The properties that authenticate a client; they may be replaced while the client is connected.
package struct KafkaIdentity: Hashable, Sendable {
    package static let names: Set = [
        "sasl.username", "sasl.password", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem", "ssl.key.password",
        "ssl.keystore.password",
    ]

    package let properties: [String: String]

    /// Selects these properties from all properties of a client.
    package init(_ all: [String: String]) { properties = all.filter { Self.names.contains($0.key) } }

    /// Whether only user name or password differ; existing clients can replace these two.
    package func differsInLoginAlone(from other: KafkaIdentity) -> Bool {
        let names = Set(properties.keys).union(other.properties.keys)
        return names.allSatisfy { name in
            name == "sasl.username" || name == "sasl.password" || properties[name] == other.properties[name]
        }
    }

    /// Replaces one identity by another, in the whole process.
    ///
    /// Clients with the former identity use the new user name and password from their next connection on. Clients that
    /// are created later with the former properties get all new properties. Open connections stay: brokers request a
    /// password again only if `connections.max.reauth.ms` is set.
    package static func replace(_ former: KafkaIdentity, by new: KafkaIdentity) {
        guard former != new else { return }
        let clients = replacements.withLock { $0.replace(former, by: new) }
        for client in clients { client.signIn(as: new) }
    }

    /// The identity that has replaced this one; this identity if none has.
    var newest: KafkaIdentity { Self.replacements.withLock { $0.newest[self] ?? self } }

    /// Registers a client, so that it authenticates with each identity that replaces its own.
    static func register(_ client: ClientHandle, _ identity: KafkaIdentity) {
        guard identity.properties["sasl.password"] != nil else { return }
        // The identity may have been replaced during the creation of the client.
        let newest = replacements.withLock { replacements in
            let newest = replacements.newest[identity] ?? identity
            replacements.add(client, newest)
            return newest
        }
        if newest != identity { client.signIn(as: newest) }
    }

    private static let replacements = Mutex(Replacements())

    private struct Replacements {
        var newest: [KafkaIdentity: KafkaIdentity] = [:]
        private var clients: [(client: WeakClient, identity: KafkaIdentity)] = []

        mutating func add(_ client: ClientHandle, _ identity: KafkaIdentity) {
            clients.removeAll { $0.client.value == nil }
            clients.append((WeakClient(client), identity))
        }

        /// - Returns: the clients with the former identity.
        mutating func replace(_ former: KafkaIdentity, by new: KafkaIdentity) -> [ClientHandle] {
            for (known, newest) in newest where newest == former { self.newest[known] = new }
            newest[former] = new
            newest[new] = nil
            var found: [ClientHandle] = []
            for index in clients.indices where clients[index].identity == former {
                clients[index].identity = new
                if let client = clients[index].client.value { found.append(client) }
            }
            return found
        }
    }

    private struct WeakClient: @unchecked Sendable {
        weak var value: ClientHandle?

        init(_ value: ClientHandle) { self.value = value }
    }
}

extension ClientHandle {
    /// Uses the user name and password of `identity` from the next connection on.
    fileprivate func signIn(as identity: KafkaIdentity) {
        guard let name = identity.properties["sasl.username"], let password = identity.properties["sasl.password"],
            let error = unsafe rd_kafka_sasl_set_credentials(pointer, name, password)
        else { return }
        // The only error is a user name or password that is `nil`.
        unsafe rd_kafka_error_destroy(error)
    }
}
