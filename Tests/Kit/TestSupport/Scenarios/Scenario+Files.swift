package import Foundation
import Simulation

extension Scenario {
    package static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../../EntitlementsTests/Scenarios", isDirectory: true
    ).standardizedFileURL

    /// The names of all scenarios, sorted.
    package static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }()

    /// - Parameter signedLater: milliseconds by which each event is signed later than the file
    ///   says.
    package static func load(_ name: String, signedLater: Int64 = 0) throws -> Scenario {
        let json = try Data(contentsOf: folder.appendingPathComponent(name + ".json"))
        return try Scenario(name: name, ScenarioFile(Array(json), in: folder, signedLater: signedLater))
    }
}
