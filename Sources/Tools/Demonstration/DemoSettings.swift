import JSON
import Simulation

/// The settings file that all four workers read, as in production.
package struct DemoSettings: Sendable {
    let bootstrap: String
    /// Prefix of the names of topics and groups.
    let prefix: String
    let databaseURL: String
    let apps: [DemoApp]
    let rootFile: String
    /// The codec of all records, for a cluster with little space.
    ///
    /// `nil` leaves the choice to the topics.
    var codec: String?

    package var json: [UInt8] {
        let kafka: JSONContent = [
            "bootstrap": bootstrap, "topic_prefix": prefix, "group_prefix": prefix, "session_timeout": "10s",
        ]
        let settings: JSONContent = [
            "kafka": kafka, "database": ["url": databaseURL] as JSONContent,
            // Use any free port.
            "http": ["port": 0] as JSONContent, "apps": Self.json(apps, rootFile: rootFile),
        ]
        guard let codec else { return settings.bytes }
        return (settings + ["rdkafka": ["compression.type": codec] as JSONContent]).bytes
    }

    /// Returns the setting `apps`, with a root that replaces Apple's.
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
