import JSON
import Platform

/// Reads the list of apps and collects its problems.
struct AppSettingsReader {
    /// Environments whose payloads are signed with a certificate that Xcode created.
    private static let localEnvironments = ["Xcode", "LocalTesting"]

    private var faults: [SettingMismatch.Fault] = []

    mutating func read(_ list: JSONValue) throws(SettingMismatch) -> [AppSetting] {
        var apps: [AppSetting] = []
        for (index, element) in list.elements.enumerated() {
            guard let app = app(element, at: "[\(index)]") else { continue }
            let isDoubled = apps.contains { $0.bundleID == app.bundleID && $0.environment == app.environment }
            if isDoubled { report("[\(index)]", "this bundle ID and environment stand in the list already") }
            apps.append(app)
        }
        guard faults.isEmpty else { throw SettingMismatch(faults) }
        return apps
    }

    private mutating func app(_ value: JSONValue, at path: String) -> AppSetting? {
        guard value.kind == .object else {
            let members = AppMember.names.joined(separator: ", ")
            report(path, "expected an object of \(members), found \(Self.article(value.kind))")
            return nil
        }
        for (key, _) in value.members {
            let name = key.string ?? ""
            if !AppMember.names.contains(name) {
                report("\(path).\(name)", Self.unknown("member", name, known: AppMember.names, lead: "The members are"))
            }
        }
        let bundleID = text(.bundleID, of: value, at: path)
        let environment = environment(of: value, at: path)
        let appAppleID = appAppleID(of: value, at: path)
        let roots = roots(value["roots"], at: path)
        let isTest = flag(.isTestRootInProduction, of: value, at: path)
        guard let bundleID, let environment else { return nil }
        let app = AppSetting(
            bundleID: bundleID, environment: environment, appAppleID: appAppleID, rootFiles: roots,
            isTestRootInProduction: isTest, api: api(of: value, at: path),
            setsAccountTokens: flag(.setsAccountTokens, of: value, at: path),
            refundReplies: refundReplies(of: value, at: path))
        checkTogether(app, hasRoots: value["roots"] != nil, at: path)
        return app
    }

    private mutating func checkTogether(_ app: AppSetting, hasRoots: Bool, at path: String) {
        let isProduction = app.environment == "Production"
        if isProduction, app.appAppleID == nil {
            report("\(path).app_apple_id", "required in Production: expected the app's Apple ID")
        }
        if isProduction, hasRoots, !app.isTestRootInProduction {
            report("\(path).roots", "custom roots in Production need test_root_in_production: true beside them")
        }
        if app.isTestRootInProduction, !isProduction || !hasRoots {
            report("\(path).test_root_in_production", "only stands beside roots and environment Production")
        }
        if app.setsAccountTokens, app.api == nil {
            report("\(path).set_account_token", "only stands beside api_issuer_id, api_key_id and api_key_file")
        }
        if app.refundReplies.consented != .never, app.api == nil {
            report("\(path).refund_replies", "needs api_issuer_id, api_key_id and api_key_file beside it")
        }
        if Self.localEnvironments.contains(app.environment), !hasRoots {
            report("\(path).roots", "required for \(app.environment): expected the certificate exported from Xcode")
        }
    }

    private mutating func text(_ member: AppMember, of app: JSONValue, at path: String) -> String? {
        let value = app[member.rawValue]
        guard let text = value?.string, (1...255).contains(text.utf8.count) else {
            mismatch(member, value, at: path)
            return nil
        }
        return text
    }

    /// Reads the environment: one of those that the database's `is_environment` knows.
    private mutating func environment(of app: JSONValue, at path: String) -> String? {
        guard let text = text(.environment, of: app, at: path) else { return nil }
        let known = AppleEnvironment.allCases.map(\.rawValue)
        if !known.contains(text) {
            report("\(path).environment", Self.unknown("environment", text, known: known, lead: "Apple's are"))
        }
        return text
    }

    private static func unknown(_ kind: String, _ word: String, known: [String], lead: String) -> String {
        let hint = Spelling.hint(for: word, among: known)
        return "there is no such \(kind)\(hint.isEmpty ? "." : hint) \(lead) \(known.joined(separator: ", "))"
    }

    private mutating func appAppleID(of app: JSONValue, at path: String) -> Int64? {
        guard let value = app[AppMember.appAppleID.rawValue], !value.isNull else { return nil }
        guard let number = value.int64, number > 0 else {
            mismatch(.appAppleID, value, at: path)
            return nil
        }
        return number
    }

    private mutating func api(of app: JSONValue, at path: String) -> APIKeySetting? {
        let members = [AppMember.issuerID, .keyID, .keyFile]
        guard members.contains(where: { app[$0.rawValue]?.isNull == false }) else { return nil }
        let texts = members.map { text($0, of: app, at: path) }
        guard let issuerID = texts[0], let keyID = texts[1], let keyFile = texts[2] else { return nil }
        return APIKeySetting(issuerID: issuerID, keyID: keyID, keyFile: keyFile)
    }

    private mutating func refundReplies(of app: JSONValue, at path: String) -> RefundReplies {
        var replies = RefundReplies()
        guard let value = app[AppMember.refundReplies.rawValue], !value.isNull else { return replies }
        let known = value.members.allSatisfy { ["consented", "preference"].contains($0.key.string) }
        let consent = value["consented"]?.string.flatMap(RefundReplies.Consent.init(rawValue:))
        let preference = value["preference"].map { $0.string ?? "" } ?? replies.preference
        guard value.kind == .object, known, let consent, RefundReplies.preferences.contains(preference) else {
            mismatch(.refundReplies, value, at: path)
            return replies
        }
        (replies.consented, replies.preference) = (consent, preference)
        return replies
    }

    private mutating func roots(_ value: JSONValue?, at path: String) -> [String] {
        guard let value else { return [] }
        guard value.kind == .array, value.count > 0 else {
            mismatch(.roots, value, at: path)
            return []
        }
        return value.elements.enumerated().compactMap { index, element in
            guard let path = element.string, FileSystem.isReadableFile(path) else {
                report("\(path).roots[\(index)]", "expected the path of a file that can be read")
                return nil
            }
            return path
        }
    }

    private mutating func flag(_ member: AppMember, of app: JSONValue, at path: String) -> Bool {
        guard let value = app[member.rawValue], !value.isNull else { return false }
        guard let flag = value.bool else {
            mismatch(member, value, at: path)
            return false
        }
        return flag
    }

    /// Reports the expected type and the value's type, but never the value.
    private mutating func mismatch(_ member: AppMember, _ value: JSONValue?, at path: String) {
        let found = value.map { Self.article($0.kind) } ?? "nothing"
        report("\(path).\(member.rawValue)", "expected \(member.expected), found \(found)")
    }

    private static func article(_ kind: JSONKind) -> String {
        switch kind {
        case .object: "an object"
        case .array: "a list"
        case .string: "a text"
        case .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        }
    }

    private mutating func report(_ path: String, _ message: String) {
        faults.append(SettingMismatch.Fault(path: path, message: message))
    }
}
