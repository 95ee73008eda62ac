import JSON
import Operations
import Settings

/// The settings file of the measured workers: the defaults, and where everything is.
struct BenchSettings {
    let bootstrap: String
    let prefix: String
    let databaseURL: String
    let rootFile: String

    var json: [UInt8] {
        let kafka: JSONContent = ["bootstrap": bootstrap, "topic_prefix": prefix, "group_prefix": prefix]
        let app: JSONContent = [
            "bundle_id": BenchTransaction.bundleID, "environment": "Production",
            "app_apple_id": BenchTransaction.appAppleID, "roots": [rootFile], "test_root_in_production": true,
        ]
        let settings: JSONContent = [
            "kafka": kafka, "database": ["url": databaseURL] as JSONContent,
            "linking": ["mode": "links"] as JSONContent, "apps": [app],
        ]
        return settings.bytes
    }

    /// Reads the settings that the account reader needs.
    static func read(_ path: String) throws -> SettingsValues {
        let schema = SettingsSchema(WorkerSettings.declarations, ignoresUnknown: true)
        return try schema.read(environment: [:], file: try SettingsFile(path: path))
    }
}
