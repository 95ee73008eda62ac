import AppStore
import Foundation
import JSON
import Operations
import Settings
import Simulation

/// A scenario file (`schemas/scenarios`) whose app is replaced by another one.
struct SampleStory {
    private let file: ScenarioFile
    private let path: String
    private let bundleID: String

    init(_ path: String, _ bundleID: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        self.path = path
        self.bundleID = bundleID
        do { file = try ScenarioFile(Array(bytes), in: URL(filePath: path).deletingLastPathComponent()) } catch {
            throw Self.fault(path, error)
        }
    }

    private static func fault(_ path: String, _ error: any Error) -> CommandError {
        CommandError(ExitCode.data, "\(path): \(error)")
    }

    func bodies(_ signers: DemoSigners) throws -> [[UInt8]] {
        let maker = ScenarioBodies(app: DemoApp(bundleID: bundleID, environment: ""), signers: signers) { name, text in
            name == "bundleId" && text == ScenarioEvent.bundleID ? bundleID : nil
        }
        do {
            return try file.events.map { event in
                let app = try (event.transaction() ?? event.appTransaction())?["bundleId"]?.string
                guard app ?? ScenarioEvent.bundleID == ScenarioEvent.bundleID else {
                    throw ScenarioError("event \(event.offset) is of another app")
                }
                guard event.json["trust"]?.string ?? "apple" == "apple" else {
                    throw ScenarioError("event \(event.offset) is signed below another root")
                }
                let uuid = event.json["notification"]?["uuid"]?.string
                return try maker.body(of: event, notificationUUID: uuid ?? UUID().uuidString.lowercased())
            }
        } catch { throw Self.fault(path, error) }
    }

    /// The app, once for each environment in the file.
    var apps: [DemoApp] {
        Set(file.events.map(\.environment)).sorted().map { DemoApp(bundleID: bundleID, environment: $0) }
    }

    var catalog: [UInt8] { Array(file.catalog.rawBytes) }

    /// The links as lines of a file.
    var links: [UInt8] {
        let kinds: [(member: StaticString, kind: String)] = [
            ("token", "account_token"), ("appTransactionId", "app_transaction_id"),
            ("originalTransactionId", "original_transaction_id"),
        ]
        var lines: [UInt8] = []
        for link in file.root["links"]?.elements.map(\.self) ?? [] {
            for (member, kind) in kinds {
                guard let key = link[member]?.string, let user = link["user"]?.string else { continue }
                let line: JSONContent = ["kind": kind, "key": key, "user": user]
                lines += line.bytes + Array("\n".utf8)
            }
        }
        return lines
    }

    /// Remarks about the parts of the story that bodies cannot express.
    var remarks: [String] {
        let count = file.events.count { $0.json["userID"] != nil }
        return count == 0 ? [] : ["\(count) events name a user, which only a header can"]
    }
}
