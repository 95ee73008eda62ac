import AppStore
import DeadLetters
package import OpenSSL
import Settings

/// A record that only the settings refuse: its signatures are good.
package struct RefusedRecord: Hashable, Sendable {
    /// For whom its payload was signed.
    package struct App: Hashable, Sendable {
        package let bundleID: String?
        package let environment: String?

        package init(bundleID: String?, environment: String?) {
            self.bundleID = bundleID
            self.environment = environment
        }

        /// For logs: bounded, and fit for a terminal.
        var text: String {
            "\(Self.bounded(bundleID, "no bundle ID")) in "
                + Self.bounded(environment, "no environment")
        }

        private static let lengthMax = 100

        private static func bounded(_ text: String?, _ absent: String) -> String {
            text.map { Printable.line($0, lengthMax: lengthMax) } ?? absent
        }
    }

    /// The SHA-256 of the signed payload: what stands beside it in the body is anybody's.
    package let payload: SHA256Digest
    package let app: App

    package init(payload: SHA256Digest, app: App) {
        self.payload = payload
        self.app = app
    }
}

extension Verdict {
    /// Nil for all but what only the settings refuse.
    var refusedBySettings: RefusedRecord? {
        guard let facts = deadLetter, let payload = facts.signedPayload else { return nil }
        return RefusedRecord(
            payload: payload,
            app: RefusedRecord.App(
                bundleID: facts.unverified.bundleID,
                environment: facts.unverified.environment
            )
        )
    }
}
