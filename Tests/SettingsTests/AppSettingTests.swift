import Foundation
import Testing

@testable import Settings

@Suite struct AppSettingTests {
    @Test func `apps come from the environment as JSON`() throws {
        let root = try TemporaryFile("certificate")
        let text = """
            [{"bundle_id": "com.example.a", "environment": "Production", "app_apple_id": 42},
             {"bundle_id": "com.example.a", "environment": "Xcode", "roots": ["\(root.path)"]},
             {"bundle_id": "com.example.b", "environment": "Production", "app_apple_id": 43,
              "roots": ["\(root.path)"], "test_root_in_production": true}]
            """
        let apps = try #require(try Example.read(["APPS": text])[Example.apps])
        #expect(
            apps == [
                AppSetting(bundleID: "com.example.a", environment: "Production", appAppleID: 42),
                AppSetting(bundleID: "com.example.a", environment: "Xcode", rootFiles: [root.path]),
                AppSetting(
                    bundleID: "com.example.b", environment: "Production", appAppleID: 43, rootFiles: [root.path],
                    isTestRootInProduction: true),
            ])
    }

    @Test func `apps come from the file as an array`() throws {
        let file = #"{"apps": [{"bundle_id": "com.example.a", "environment": "Sandbox"}]}"#
        #expect(try Example.read(file: file)[Example.apps]?.count == 1)
    }

    @Test func `an unknown member is refused, and those that exist are named`() throws {
        for (member, hint) in [("apple_id", "."), ("bundleid", ", did you mean bundle_id?")] {
            let text = #"[{"bundle_id": "a", "environment": "Sandbox", "\#(member)": 1}]"#
            let error = #expect(throws: SettingsError.self) { try Example.read(["APPS": text]) }
            #expect(
                error?.problems.map(\.message) == [
                    "there is no such member\(hint) The members are bundle_id, environment, "
                        + "app_apple_id, roots, test_root_in_production, api_issuer_id, api_key_id, api_key_file, "
                        + "set_account_token, refund_replies"
                ])
        }
    }

    @Test(arguments: [
        (#"{"bundle_id": 7, "environment": "Sandbox"}"#, "expected a text of 1 to 255 bytes, found a number"),
        (
            #"{"bundle_id": "a", "environment": "sandbox"}"#,
            "there is no such environment, did you mean Sandbox? Apple's are Production, "
                + "Sandbox, Xcode, LocalTesting"
        ),
        (
            #"{"bundle_id": "a", "environment": "Prod"}"#,
            "there is no such environment. Apple's are Production, Sandbox, Xcode, LocalTesting"
        ),
        (
            #"{"bundle_id": "a", "environment": "Production", "app_apple_id": "12"}"#,
            "expected a positive integer, found a text"
        ),
        (
            #"{"bundle_id": "a", "environment": "Xcode", "roots": "/etc/passwd"}"#,
            "expected a list of one or more paths of PEM or DER files, found a text"
        ),
        (
            #"{"bundle_id": "a", "environment": "Sandbox", "test_root_in_production": 1}"#,
            "expected true or false, found a number"
        ),
    ]) func `a wrong value is refused with what was expected and of what type it is`(app: String, message: String) {
        let error = #expect(throws: SettingsError.self) { try Example.read(["APPS": "[\(app)]"]) }
        #expect(error?.problems.map(\.message).contains(message) == true)
    }

    @Test func `the key for Apple's server is read whole, and printed as it is read`() throws {
        let text = """
            [{"bundle_id":"a","environment":"Sandbox","api_issuer_id":"I","api_key_id":"K",\
            "api_key_file":"/nowhere/key.p8","set_account_token":true,\
            "refund_replies":{"consented":"all","preference":"decline"}}]
            """
        let values = try Example.read(["APPS": text])
        let key = APIKeySetting(issuerID: "I", keyID: "K", keyFile: "/nowhere/key.p8")
        #expect(values[Example.apps]?.first?.api == key)
        #expect(values[Example.apps]?.first?.setsAccountTokens == true)
        #expect(values.canonicalText(of: [Example.apps.declaration]).contains(text))
    }

    @Test func `the documented entries can be read`() throws {
        let root = try TemporaryFile("certificate")
        let file = AppSetting.example.replacing(/"\/etc\/[^"]*"/, with: "\"\(root.path)\"")
        #expect(try Example.read(file: file)[Example.apps]?.count == 4)
    }

    @Test func `each fault of a list is named by its place`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "apps.txt")
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.components(separatedBy: " => ")
            let error = #expect(throws: SettingsError.self) { try Example.read(["APPS": parts[0]]) }
            let found = Set(error?.problems.map(\.setting) ?? [])
            let places = parts[1].components(separatedBy: " ")
            #expect(found.isSuperset(of: places) && found.count <= places.count + 1, "\(line)")
        }
    }
}
