package import Settings

/// The settings that only `recovery-worker` has, apart from its code because `pipeline` reads them too.
package enum RecoverySettings {
    package static let missedInterval = Setting(
        "recovery.missed_interval", .duration(.seconds(1)...(.seconds(86_400))), default: .seconds(3600),
        "How often Apple is asked for the deliveries of the last 48 hours that failed.")
    package static let completeInterval = Setting(
        "recovery.complete_interval", .duration(.seconds(1)...(.seconds(30 * 86_400))), default: .seconds(86_400),
        "How often the whole notification history is compared with what is held: 179 days in "
            + "Production, 29 in other environments.")
    package static let staleMax = Setting(
        "recovery.stale_max", .int(0...1_000_000), default: 1000,
        "Maximum subscriptions to ask Apple about after each such comparison: those that should "
            + "have renewed and of which nothing has come since.")
    package static let rateShare = Setting(
        "recovery.rate_share", .int(1...100), default: 50,
        "Percentage of Apple's request limits that may be used, for each app and endpoint.")
    package static let finishes = Setting(
        "recovery.finish", .bool, default: false,
        "Whether purchases are finished at Apple once their row is committed and their owner "
            + "known: those made since this was set.")
    package static let proxy = Setting<String?>.optional(
        "recovery.proxy", .string(bytes: 1...2048), isSecret: true,
        "HTTP proxy to Apple's servers: http://HOST:PORT, with a user and password if it asks for them.")
    package static let baseURL = Setting<String?>.optional(
        "recovery.base_url", .string(bytes: 1...255),
        "Server to ask instead of Apple's, on this machine alone: https://127.0.0.1:PORT.")
    package static let caFile = Setting<String?>.optional(
        "recovery.ca_file", .file, "PEM file of the authorities that vouch for that server, instead of the system's.")

    package static let declarations = [
        missedInterval.declaration, completeInterval.declaration, staleMax.declaration, rateShare.declaration,
        finishes.declaration, proxy.declaration, baseURL.declaration, caFile.declaration,
    ]
}
