package import OpenSSL
package import Settings

/// The rules for questions about revoked certificates.
package struct RevocationPolicy: Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        case off
        /// A certificate of unknown status is accepted and counted.
        case soft
        /// A record with a certificate of unknown status waits.
        case hard
    }

    package let isHard: Bool
    /// Time between two questions about one certificate.
    package let interval: Duration
    /// Maximum wait for one answer, in whole seconds.
    package let deadlineSeconds: Int

    package init(isHard: Bool, interval: Duration, deadlineSeconds: Int) {
        self.isHard = isHard
        self.interval = interval
        self.deadlineSeconds = deadlineSeconds
    }

    /// Returns `nil` if the settings turn the questions off.
    package init?(_ settings: SettingsValues) {
        guard settings[VerifySettings.revocation] != .off else { return nil }
        self.init(
            isHard: settings[VerifySettings.revocation] == .hard, interval: settings[VerifySettings.revocationInterval],
            deadlineSeconds: Int(settings[VerifySettings.revocationDeadline] / .seconds(1)))
    }
}

extension Certificate {
    /// The responders that can be asked, which are those with an HTTP address; answers are signed,
    /// so HTTPS is not needed.
    package var plainResponders: [String] { ocspResponders.filter { $0.utf8.starts(with: "http://".utf8) } }
}
