package import Settings

/// Settings that several executables must share.
package enum SharedSettings {
    /// The apps that verify-worker accepts, and that recovery-worker asks Apple about.
    package static let apps = Setting("apps", .apps, "The apps whose purchases are accepted, each in one environment.")
    /// The trust in the header that verify-worker reads and link-worker applies.
    package static let trustsIngestUser = Setting(
        "linking.trust_ingest_user", .bool, default: false,
        "Whether the user ID in the record header user-id owns the purchase where nothing else "
            + "names an owner; set it alike for verify-worker and link-worker.")

    /// The sections of one JSON file that may serve all executables; each ignores the others'.
    package static let sections: Set<String> = [
        "apps", "batch", "breaker", "catalog", "database", "dedupe", "entitle", "health", "http", "kafka", "linking",
        "log", "recovery", "retry", "settings", "shutdown", "verify",
    ]
}
