import JSON
import Operations
import Simulation

/// The one settings file that all four workers read, as a company's own would look.
package struct DemoSettings: Sendable {
    let bootstrap: String
    /// Prefix of the names of topics and groups.
    let prefix: String
    let databaseURL: String
    let apps: [DemoApp]
    let rootFile: String

    package var json: [UInt8] {
        var writer = JSONWriter(reserving: 2_048)
        writer.object { writer in
            writer.key("kafka")
            writer.object { writer in
                writer.member("bootstrap", bootstrap)
                writer.member("topic_prefix", prefix)
                writer.member("group_prefix", prefix)
                writer.member("session_timeout", "10s")
            }
            writer.key("database")
            writer.object { $0.member("url", databaseURL) }
            writer.key("http")
            // Any free port: nothing has to be kept free for a demo.
            writer.object { $0.member("port", 0) }
            writer.key("apps")
            writer.apps(apps, rootFile: rootFile)
        }
        return writer.bytes
    }
}

extension JSONWriter {
    /// The setting `apps`, with a root instead of Apple's.
    mutating func apps(_ apps: [DemoApp], rootFile: String) {
        array { writer in
            for app in apps {
                writer.object { writer in
                    writer.member("bundle_id", app.bundleID)
                    writer.member("environment", app.environment)
                    writer.member("app_apple_id", app.appAppleID)
                    writer.key("roots")
                    writer.strings([rootFile])
                    if app.environment == "Production" {
                        writer.member("test_root_in_production", true)
                    }
                }
            }
        }
    }
}
