package import AppStore
import OpenSSL

/// The facts of one app transaction about an Apple Account's copy of an app.
package struct AppTransactionFact: Hashable, Sendable {
    package var environment: Environment
    package var bundleID: Identifier
    package var track: Track
    package var revision: Revision
    package var trust: Trust
    /// The `appTransactionId`.
    ///
    /// `nil` in data that Apple signed before 2025.
    package var appTransactionID: Identifier?
    package var originalApplicationVersion: String?
    package var originalPurchaseDate: Timestamp?
    package var originalPlatform: String?
    package var preorderDate: Timestamp?
    package var applicationVersion: String?

    package init(
        environment: Environment, bundleID: Identifier, track: Track, revision: Revision, trust: Trust,
        appTransactionID: Identifier? = nil
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.track = track
        self.revision = revision
        self.trust = trust
        self.appTransactionID = appTransactionID
    }

    /// The fact's key: the `appTransactionId`, or, if that is absent, the hash of the content.
    package var id: Identifier { appTransactionID ?? "sha256:\(revision.contentHash.hex)" }

    /// The Apple Account in the app transaction.
    ///
    /// `nil` if absent.
    package var group: AppTransactionGroup? {
        appTransactionID.map { id in
            AppTransactionGroup(environment: environment, bundleID: bundleID, appTransactionID: id)
        }
    }
}
