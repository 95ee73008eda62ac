import JSON
import Simulation

/// The one settings file that all four workers read, as a company's own would look.
package struct DemoSettings: Sendable {
    let bootstrap: String
    /// Prefix of the names of topics and groups.
    let prefix: String
    let databaseURL: String
    let apps: [DemoApp]
    let rootFile: String
    /// The codec of all records, for a cluster that holds little; nil leaves it to the topics.
    var codec: String?

    package var json: [UInt8] {
        let kafka: JSONContent = [
            "bootstrap": bootstrap, "topic_prefix": prefix, "group_prefix": prefix, "session_timeout": "10s",
        ]
        let settings: JSONContent = [
            "kafka": kafka, "database": ["url": databaseURL] as JSONContent,
            // Any free port: nothing has to be kept free for a demo.
            "http": ["port": 0] as JSONContent, "apps": Self.json(apps, rootFile: rootFile),
        ]
        guard let codec else { return settings.bytes }
        return (settings + ["rdkafka": ["compression.type": codec] as JSONContent]).bytes
    }

    /// The setting `apps`, with a root instead of Apple's.
    static func json(_ apps: [DemoApp], rootFile: String) -> JSONContent {
        .array(
            apps.map { app in
                let entry: JSONContent = [
                    "bundle_id": app.bundleID, "environment": app.environment, "app_apple_id": app.appAppleID,
                    "roots": [rootFile],
                ]
                guard app.environment == "Production" else { return entry }
                return entry + ["test_root_in_production": true]
            })
    }
}
