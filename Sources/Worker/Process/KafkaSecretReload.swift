import Kafka
import OpenSSL
import Settings
import Synchronization

/// Brings passwords and certificates that were replaced to the clients of a running worker.
///
/// A user name and a password reach clients that live: nothing is disconnected, and the group
/// notices nothing. For certificates every client is made anew.
final class KafkaSecretReload: Sendable {
    private let loop: WorkerLoop
    private let log: Log
    /// What the clients were made of; nil where they may have been made of anything, as the files
    /// did not fit together meanwhile.
    private let certificates: Mutex<[SHA256Digest?]?>

    /// Takes what the files hold now for what the clients were made of.
    init(_ settings: SettingsValues, _ loop: WorkerLoop, _ log: Log) {
        self.loop = loop
        self.log = log
        certificates = Mutex(Self.contents(settings))
    }

    /// The files of certificates and keys that librdkafka reads itself.
    static func files(_ settings: SettingsValues) -> [String] {
        [
            "ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
            "ssl.keystore.location",
        ]
        .compactMap { settings.kafkaProperties[$0] }
    }

    /// Applies what differs.
    ///
    /// - Parameter properties: all of a client of this worker, with the new ones among them.
    /// - Throws: where a client cannot be made of them, such as a key that does not belong to its
    ///   certificate; then the former ones stay.
    func apply(
        _ new: SettingsValues,
        insteadOf former: SettingsValues,
        _ properties: [String: String]
    ) throws(SettingsError) {
        let (old, identity) = (
            KafkaIdentity(former.kafkaProperties), KafkaIdentity(new.kafkaProperties)
        )
        let mustRenew =
            !identity.differsInLoginAlone(from: old)
            || Self.contents(new) != certificates.withLock { $0 }
        if mustRenew {
            try check(properties)
        }
        KafkaIdentity.replace(old, by: identity)
        guard mustRenew else { return }
        // Before any client is made: what changes while they are made is another replacement.
        certificates.withLock { [contents = Self.contents(new)] in $0 = contents }
        log.notice("certificates replaced, connecting to Kafka anew")
        loop.renewClients()
    }

    private func check(_ properties: [String: String]) throws(SettingsError) {
        do {
            let admin = try KafkaAdmin(configuration: properties)
            Task { await admin.close() }
        } catch {
            certificates.withLock { $0 = nil }
            throw SettingsError(
                problems: [SettingProblem(setting: "rdkafka", message: error.message)]
            )
        }
    }

    private static func contents(_ settings: SettingsValues) -> [SHA256Digest?] {
        files(settings).map { FileBytes.read($0).map { SHA256.digest($0) } }
    }
}
