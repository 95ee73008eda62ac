package import Foundation

extension Scenario {
    package static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../EntitlementsTests/Scenarios", isDirectory: true)
        .standardizedFileURL

    /// The names of all scenarios, sorted.
    package static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }()

    package static func load(_ name: String) throws -> Scenario {
        let file = folder.appendingPathComponent(name + ".json")
        return try Scenario(name: name, json: [UInt8](Data(contentsOf: file)))
    }
}
