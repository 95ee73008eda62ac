package import Settings

/// Settings that several executables must share.
package enum SharedSettings {
    /// The apps that `verify-worker` accepts, and about which `recovery-worker` asks Apple.
    package static let apps = Setting("apps", .apps, "The apps whose purchases are accepted, each in one environment.")

    /// The sections of a JSON file that all executables may share; each ignores the sections of the others.
    package static let sections: Set<String> = [
        "apps", "batch", "breaker", "catalog", "database", "dedupe", "entitle", "health", "http", "kafka", "linking",
        "log", "recovery", "retry", "settings", "shutdown", "verify",
    ]
}
