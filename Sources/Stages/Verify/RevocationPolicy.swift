package import Settings

/// Whether and how often the revocation of certificates is asked for.
package struct RevocationPolicy: Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        case off
        /// What is not known passes, and is counted.
        case soft
        /// What is not known waits.
        case hard
    }

    package let isHard: Bool
    /// Between two questions about one certificate.
    package let interval: Duration
    /// For one answer, in whole seconds.
    package let deadlineSeconds: Int

    package init(isHard: Bool, interval: Duration, deadlineSeconds: Int) {
        self.isHard = isHard
        self.interval = interval
        self.deadlineSeconds = deadlineSeconds
    }

    /// Nil where nothing is asked.
    package init?(_ settings: SettingsValues) {
        guard settings[VerifySettings.revocation] != .off else { return nil }
        self.init(
            isHard: settings[VerifySettings.revocation] == .hard,
            interval: settings[VerifySettings.revocationInterval],
            deadlineSeconds: Int(settings[VerifySettings.revocationDeadline] / .seconds(1))
        )
    }
}
