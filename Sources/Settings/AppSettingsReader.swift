import JSON

/// Reads the list of apps and gathers all that is wrong in it.
struct AppSettingsReader {
    private static let members = [
        "bundle_id", "environment", "app_apple_id", "roots", "test_root_in_production",
    ]

    /// Environments whose tokens carry a certificate that Xcode made.
    private static let localEnvironments = ["Xcode", "LocalTesting"]

    private var faults: [SettingMismatch.Fault] = []

    mutating func read(_ list: JSONValue) throws(SettingMismatch) -> [AppSetting] {
        var apps: [AppSetting] = []
        for (index, element) in list.elements.enumerated() {
            guard let app = app(element, at: "[\(index)]") else { continue }
            let isDoubled = apps.contains {
                $0.bundleID == app.bundleID && $0.environment == app.environment
            }
            if isDoubled {
                report("[\(index)]", "this bundle ID and environment stand in the list already")
            }
            apps.append(app)
        }
        guard faults.isEmpty else { throw SettingMismatch(faults) }
        return apps
    }

    private mutating func app(_ value: JSONValue, at place: String) -> AppSetting? {
        guard value.kind == .object else {
            report(place, "expected an object with bundle_id and environment")
            return nil
        }
        for (key, _) in value.members {
            let name = key.string ?? ""
            if !Self.members.contains(name) {
                let hint = Spelling.hint(for: name, among: Self.members)
                report("\(place).\(name)", "there is no such member\(hint)")
            }
        }
        let bundleID = identifier(value["bundle_id"], at: "\(place).bundle_id")
        let environment = identifier(value["environment"], at: "\(place).environment")
        let appAppleID = appAppleID(value["app_apple_id"], at: "\(place).app_apple_id")
        let roots = roots(value["roots"], at: "\(place).roots")
        let isTest = flag(
            value["test_root_in_production"],
            at: "\(place).test_root_in_production"
        )
        guard let bundleID, let environment else { return nil }
        let app = AppSetting(
            bundleID: bundleID,
            environment: environment,
            appAppleID: appAppleID,
            rootFiles: roots,
            isTestRootInProduction: isTest
        )
        checkTogether(app, hasRoots: value["roots"] != nil, at: place)
        return app
    }

    private mutating func checkTogether(_ app: AppSetting, hasRoots: Bool, at place: String) {
        let isProduction = app.environment == "Production"
        if isProduction, app.appAppleID == nil {
            report("\(place).app_apple_id", "required in Production: expected the app's Apple ID")
        }
        if isProduction, hasRoots, !app.isTestRootInProduction {
            report(
                "\(place).roots",
                "roots of one's own in Production need test_root_in_production: true beside them"
            )
        }
        if app.isTestRootInProduction, !isProduction || !hasRoots {
            report(
                "\(place).test_root_in_production",
                "only stands beside roots and environment Production"
            )
        }
        if Self.localEnvironments.contains(app.environment), !hasRoots {
            report(
                "\(place).roots",
                "required for \(app.environment): expected the certificate exported from Xcode"
            )
        }
    }

    private mutating func identifier(_ value: JSONValue?, at place: String) -> String? {
        guard let text = value?.string, (1...255).contains(text.utf8.count) else {
            report(place, "expected a text of 1 to 255 bytes")
            return nil
        }
        return text
    }

    private mutating func appAppleID(_ value: JSONValue?, at place: String) -> Int64? {
        guard let value, !value.isNull else { return nil }
        guard let number = value.int64, number > 0 else {
            report(place, "expected a positive integer")
            return nil
        }
        return number
    }

    private mutating func roots(_ value: JSONValue?, at place: String) -> [String] {
        guard let value else { return [] }
        guard value.kind == .array, value.count > 0 else {
            report(place, "expected a list of one or more paths of PEM or DER files")
            return []
        }
        return value.elements.enumerated().compactMap { index, element in
            guard let path = element.string, FileBytes.isReadable(path) else {
                report("\(place)[\(index)]", "expected the path of a file that can be read")
                return nil
            }
            return path
        }
    }

    private mutating func flag(_ value: JSONValue?, at place: String) -> Bool {
        guard let value, !value.isNull else { return false }
        guard let flag = value.bool else {
            report(place, "expected true or false")
            return false
        }
        return flag
    }

    private mutating func report(_ place: String, _ message: String) {
        faults.append(SettingMismatch.Fault(place: place, message: message))
    }
}
