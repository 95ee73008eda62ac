import JSON

extension SettingKind where Value == [AppSetting] {
    /// The apps, as an array in the JSON file or as its text in the environment.
    package static var apps: SettingKind {
        SettingKind(
            type: "list of apps",
            expected: "a JSON array of one or more "
                + #"{"bundle_id": "…", "environment": "Production", "app_apple_id": 1}, with "#
                + #"optional "roots": [files] and "test_root_in_production": true"#,
            read: { input throws(SettingMismatch) in
                let list: JSONValue
                switch input {
                case .json(let value):
                    list = value
                case .text(let text):
                    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else {
                        throw .whole
                    }
                    list = document.root
                }
                guard list.kind == .array, list.count > 0 else { throw .whole }
                var reader = AppSettingsReader()
                return try reader.read(list)
            },
            render: { String(decoding: json($0), as: UTF8.self) }
        )
    }

    private static func json(_ apps: [AppSetting]) -> [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in
            for app in apps {
                writer.object { write(app, &$0) }
            }
        }
        return writer.bytes
    }

    private static func write(_ app: AppSetting, _ writer: inout JSONWriter) {
        writer.key("bundle_id")
        writer.string(app.bundleID)
        writer.key("environment")
        writer.string(app.environment)
        if let number = app.appAppleID {
            writer.key("app_apple_id")
            writer.int(number)
        }
        if !app.rootFiles.isEmpty {
            writer.key("roots")
            writer.array { writer in
                for file in app.rootFiles {
                    writer.string(file)
                }
            }
        }
        if app.isTestRootInProduction {
            writer.key("test_root_in_production")
            writer.bool(true)
        }
    }
}
