package import Foundation
package import JSON

/// The members, the catalog and the events of a scenario file (`schemas/scenarios`).
package struct ScenarioFile {
    package let root: JSONValue
    package let catalog: JSONValue
    package let events: [ScenarioEvent]

    /// Reads the file's text.
    ///
    /// - Parameters:
    ///   - folder: the folder of the file; its `catalogs` has the catalogs that files share by name.
    ///   - signedLater: milliseconds by which each event is signed later than the file says.
    package init(_ json: [UInt8], in folder: URL? = nil, signedLater: Int64 = 0) throws {
        root = try JSONDocument(parsing: json).root
        guard let catalog = root["catalog"], let list = root["events"], list.count > 0 else {
            throw ScenarioError("expected a scenario, with a catalog and events")
        }
        self.catalog = try catalog.string.map { try Self.catalog($0, in: folder) } ?? catalog
        events = try list.elements.enumerated().map {
            try ScenarioEvent(json: $1, offset: Int64($0), signedLater: signedLater)
        }
    }

    private static func catalog(_ name: String, in folder: URL?) throws -> JSONValue {
        let path = folder?.appending(path: "catalogs/\(name).json").path
        guard let bytes = path.flatMap(FileManager.default.contents(atPath:)) else {
            throw ScenarioError("no catalog is named \(name): cannot read \(path ?? "catalogs/\(name).json")")
        }
        return try JSONDocument(parsing: Array(bytes)).root
    }
}
