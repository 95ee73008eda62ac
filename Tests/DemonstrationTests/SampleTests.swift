import AppStore
import Commands
import Demonstration
import Entitlements
import Foundation
import JSON
import OpenSSL
import Operations
import Records
import Simulation
import TestSupport
import Testing

@Suite struct SampleTests {
    private static let token = "3b9fd0a6-45ce-4a10-9b6c-2a8c21b1cf6d"
    /// The app of scenarios.
    private static let app: Identifier = "com.example.app"
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    private let transcript = ConsoleTranscript()

    /// - Returns: the exit code and the bodies.
    private func sample(_ arguments: [String]) async -> (code: Int32, bodies: [[UInt8]]) {
        let transcript = ConsoleTranscript()
        let code = await DemoTool.tool.run(["sample", "--folder", folder] + arguments, in: context(transcript))
        self.transcript.console().note(transcript.notes)
        return (code, transcript.output.split(separator: "\n").map { Array($0.utf8) })
    }

    private func context(_ transcript: ConsoleTranscript) -> CommandContext {
        CommandContext(console: transcript.console(), environment: [:])
    }

    private func file(_ name: String) throws -> JSONValue {
        let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
        return try JSONDocument(parsing: Array(bytes)).root
    }

    /// A verifier of the apps in `apps.json`.
    private func verifier() throws -> Verifier {
        let apps = try file("apps.json").elements.map { entry in
            let root = try #require(entry["roots"]?.elements.first { _ in true }?.string)
            return ConfiguredApp(
                bundleID: Identifier(try #require(entry["bundle_id"]?.string)),
                environment: Environment(rawValue: try #require(entry["environment"]?.string)),
                appAppleID: entry["app_apple_id"]?.int64,
                roots: try Certificate.all(inFile: Array(Data(contentsOf: URL(filePath: root)))),
                hasTestRootInProduction: entry["test_root_in_production"]?.bool ?? false)
        }
        #expect(VerifierConfiguration.problems(with: apps) == [])
        return Verifier(configuration: VerifierConfiguration(apps: apps))
    }

    @Test(arguments: ["Sandbox", "Production"]) func `the verifier accepts what the files of a sample trust`(
        environment: String
    ) async throws { for kind in SampleKind.allCases { try await expectTrusted(kind, environment) } }

    private func expectTrusted(_ kind: SampleKind, _ environment: String) async throws {
        let options = [
            "--bundle-id=org.example.app", "--kind=\(kind.rawValue)", "--count=2", "--environment=\(environment)",
            "--user-token=\(Self.token.uppercased())",
        ]
        let former = transcript.notes.count
        let (code, bodies) = await sample(options)
        let notes = transcript.notes.dropFirst(former)
        #expect(code == 0, "\(notes)")
        let verifier = try verifier()
        let isSingle = [.purchase, .consumable, .notification, .receipt, .forged].contains(kind)
        #expect(bodies.count == (isSingle ? 2 : 4))
        for body in bodies {
            switch verifier.verify(body) {
            case .success: #expect(kind != .forged)
            case .failure(let refusal): #expect(kind == .forged && refusal.reason == .signatureInvalid, "\(refusal)")
            }
        }
        let catalog = ["catalog", "check", "\(folder)/catalog.json"]
        #expect(await PipelineTool.tool.run(catalog, in: context(transcript)) == 0)
        let products = try #require(file("catalog.json")["products"]).members.map { $0.key.string }
        #expect(products.count == 3, "one catalog serves all kinds")
        let key = kind == .receipt ? "original_transaction_id 2" : "account_token \(Self.token)"
        #expect(notes.contains("link add \(key)"))
    }

    @Test func `a folder keeps its authority, and no transaction comes twice`() async throws {
        let first = await sample(["--bundle-id=org.example.app", "--count=3"])
        let verifier = try verifier()
        let second = await sample(["--bundle-id=org.example.app", "--count=3"])
        #expect(first.code == 0 && second.code == 0)
        let ids = try (first.bodies + second.bodies).map { body in
            guard case .items(let items) = try verifier.verify(body).get() else { return "" }
            return try #require(items.first?.transaction?.fields.transactionID).string
        }
        #expect(Set(ids).count == 6)
    }

    @Test func `what is no authority of this command is left alone`() async throws {
        _ = await sample(["--bundle-id=org.example.app"])
        try Data("key".utf8).write(to: URL(filePath: "\(folder)/authority.pem"))
        #expect(await sample(["--bundle-id=org.example.app"]) == (65, []))
        #expect(transcript.notes.contains("authority.pem is no authority"))
        #expect(try Data(contentsOf: URL(filePath: "\(folder)/authority.pem")) == Data("key".utf8))
    }

    @Test func `a story becomes the bodies of the app`() async throws {
        for scenario in try Scenario.names.map({ try Scenario.load($0) }) {
            let path = Scenario.folder.appending(path: "\(scenario.name).json").path
            let (code, bodies) = await sample([
                "--bundle-id=org.example.app", "--environment=Production", "--story", path,
            ])
            let isOfOneApp = scenario.observations.allSatisfy { observation in
                observation.verification?.trust == .apple && (observation.bundleID ?? Self.app) == Self.app
            }
            guard isOfOneApp else {
                #expect(code == 65 && bodies.isEmpty, "\(scenario.name)")
                continue
            }
            #expect(code == 0, "\(transcript.notes)")
            #expect(bodies.count == scenario.events.count)
            let verifier = try verifier()
            for body in bodies { #expect(throws: Never.self, "\(scenario.name)") { try verifier.verify(body).get() } }
            #expect(try file("catalog.json").rawBytes == scenario.catalogJSON[...])
            let links = try String(contentsOfFile: "\(folder)/links.jsonl", encoding: .utf8)
            let count =
                scenario.links.userByToken.count + scenario.links.userByAppTransactionID.count
                + scenario.links.userByOriginalTransactionID.count
            #expect(links.split(separator: "\n").count == count)
        }
    }

    @Test func `a story never widens what the pipeline trusts without being asked`() async throws {
        _ = await sample(["--bundle-id=org.example.app"])
        let apps = try file("apps.json").rawBytes
        let path = Scenario.folder.appending(path: "first-purchase-of-a-subscription.json").path
        #expect(await sample(["--bundle-id=org.example.app", "--story", path]) == (64, []))
        #expect(transcript.notes.contains("tells of Production: --environment Production if"))
        #expect(try file("apps.json").rawBytes == apps)
    }

    @Test(arguments: [
        ([], 64, "--bundle-id is required"), (["--bundle-id="], 64, "--bundle-id: expected 1 to 255 bytes"),
        (["--bundle-id=a", "--kind=refunds"], 64, "purchase, renewal"),
        (["--bundle-id=a", "--environment=Xcode"], 64, "Sandbox, Production"),
        (["--bundle-id=a", "--user-token=17"], 64, "expected a UUID"),
        (["--bundle-id=a", "--count=0"], 64, "an integer from 1"),
        (["--bundle-id=a", "--story=x", "--kind=refund"], 64, "leave it out"),
        (["--bundle-id=a", "--story=/nowhere"], 66, "cannot read /nowhere"),
        (["--bundle-id=a", "--story=/etc/passwd"], 65, "/etc/passwd: "),
        (["--bundle-id=a", "--folder=/dev/null"], 64, "given twice"),
    ]) func `wrong input is named, and nothing is written`(arguments: [String], expected: Int32, sentence: String) async
    {
        #expect(await sample(arguments) == (expected, []))
        #expect(transcript.notes.contains(sentence), "\(transcript.notes)")
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/authority.pem"))
    }
}
