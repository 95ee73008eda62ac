import AppStore
import Entitlements
import Foundation
import JSON
import Kafka
import Postgres
import Records
import Store
import TestSupport
import Testing

@testable import AppStore
@testable import DeadLetters

/// Only the known harmless parts of an original are shown before it is revealed.
@Suite(.timeLimit(.minutes(10))) struct CanaryTests {
    /// The letter of the verifier's refusal.
    private static func letter(_ canary: Canary, _ offset: Int, _ rig: IndexRig) -> ProducerRecord {
        let verifier = Verifier(configuration: VerifierConfiguration(apps: []))
        guard case .failure(let refusal) = verifier.verify(canary.value) else {
            preconditionFailure("no app is configured: nothing is accepted")
        }
        return rig.writer().letter(
            for: Sample.original(offset: Int64(offset), key: canary.key, value: canary.value, headers: canary.headers),
            refusal, value: .original)
    }

    @Test func `no command shows a secret, whatever part of an original holds it`() async throws {
        let rig = try await IndexRig(partitions: 1)
        let canaries = try Canary.all()
        try await rig.send(canaries.enumerated().map { Self.letter($1, $0, rig) })
        try await rig.index()
        var runs: [(String, ToolRun)] = []
        for (offset, canary) in canaries.enumerated() {
            let place = "storekit.raw/3/\(offset)"
            runs.append(("show \(canary)", await rig.tool("show", place)))
            runs.append(("show --json \(canary)", await rig.tool("show", place, "--json")))
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "export-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let commands = [
            ["list"], ["tail", "--from-topic"], ["search", "storekit.raw/3/1"], ["tail"], ["groups"], ["count"],
            ["verify"], ["replay", "--all"], ["export", "--to", folder],
        ]
        for arguments in commands {
            for json in [[], ["--json"]] where arguments[0] != "export" || json.isEmpty {
                let run = await ToolRun(
                    arguments + json + ["--kafka", rig.cluster.bootstrapServers, "--prefix", rig.prefix],
                    environment: ["DATABASE_URL": rig.options.connectionString, "USER": "anna"])
                runs.append(((arguments + json).joined(separator: " "), run))
            }
        }
        for (name, run) in runs {
            #expect(run.exitCode <= 1, "\(name): \(run.notes)")
            #expect(Canary.leaks(in: run.result + run.notes) == [], "\(name)")
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let lines = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
            #expect(Canary.leaks(in: lines) == [], "\(file)")
        }
        // The canary must be found once it is revealed.
        let revealed = await rig.tool("show", "storekit.raw/3/0", "--reveal", "--why=case 7")
        #expect(!Canary.leaks(in: revealed.result).isEmpty)
    }

    @Test func `each member that the product reads is listed as shown or as hidden`() throws {
        let read =
            TransactionField.allCases.map(\.rawValue) + RenewalField.allCases.map(\.rawValue)
            + TransactionField.checked.values.joined() + RenewalField.checked.values.joined()
            + ReceiptField.ofReceipt.values.map { "\($0.name)" } + ReceiptField.ofRecord.values.map { "\($0.name)" }
        for name in read {
            let lists = [Disclosure.shownMembers, Disclosure.namedMembers]
            #expect(lists.count { $0.contains(name) } == 1, "\(name)")
        }
        #expect(Disclosure.shownMembers.isDisjoint(with: Disclosure.namedMembers))
        #expect(Disclosure.shownHeaders.isDisjoint(with: Disclosure.namedHeaders))
    }

    @Test func `a purchase is readable without revealing anything`() async throws {
        let payload = """
            {"transactionId":"2000000000000001","type":"Auto-Renewable Subscription","price":9990,
            "appAccountToken":"5f2a1c34-0000-4000-8000-00000000abcd","isUpgraded":false,
            "advancedCommerceInfo":{"items":[{"SKU":"gold.1","displayName":"Gold"}]},"new":[1,2]}
            """
        let root = try JSONDocument(parsing: Array(payload.utf8)).root
        let text = JSONRendering.text(root, isRevealing: false, bytesMax: 10_000)
        #expect(
            text == """
                {
                  "transactionId": "2000000000000001",
                  "type": "Auto-Renewable Subscription",
                  "price": 9990,
                  "appAccountToken": "<36 bytes hidden>",
                  "isUpgraded": false,
                  "advancedCommerceInfo": {
                    "items": [
                      {
                        "SKU": "gold.1",
                        "displayName": "<4 bytes hidden>"
                      }
                    ]
                  },
                  "hidden": "<1 members, 10 bytes>"
                }
                """)
    }
}
