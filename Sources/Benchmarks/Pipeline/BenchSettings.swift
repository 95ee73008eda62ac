import JSON
import Operations
import Settings
import Worker

/// The settings file of the measured workers: the defaults, and where everything is.
struct BenchSettings {
    let bootstrap: String
    let prefix: String
    let databaseURL: String
    let linkingMode: String
    let rootFile: String

    var json: [UInt8] {
        var writer = JSONWriter(reserving: 1_024)
        writer.object { writer in
            writer.key("kafka")
            writer.object { writer in
                write("bootstrap", bootstrap, &writer)
                write("topic_prefix", prefix, &writer)
                write("group_prefix", prefix, &writer)
            }
            writer.key("database")
            writer.object { write("url", databaseURL, &$0) }
            writer.key("linking")
            writer.object { write("mode", linkingMode, &$0) }
            writer.key("apps")
            writer.array { writer in
                writer.object { app(&$0) }
            }
        }
        return writer.bytes
    }

    private func app(_ writer: inout JSONWriter) {
        write("bundle_id", BenchTransaction.bundleID, &writer)
        write("environment", "Production", &writer)
        writer.key("app_apple_id")
        writer.int(BenchTransaction.appAppleID)
        writer.key("roots")
        writer.array { $0.string(rootFile) }
        writer.key("test_root_in_production")
        writer.bool(true)
    }

    private func write(_ key: String, _ value: String, _ writer: inout JSONWriter) {
        writer.key(key)
        writer.string(value)
    }

    /// Reads the settings that the account reader needs.
    static func read(_ path: String) throws -> SettingsValues {
        let schema = SettingsSchema(WorkerSettings.declarations, ignoresUnknown: true)
        return try schema.read(environment: [:], file: try SettingsFile(path: path))
    }
}
