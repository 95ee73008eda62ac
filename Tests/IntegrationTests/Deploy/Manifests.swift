import Foundation
import JSON
import TestSupport
import Testing

/// Files of `deploy`, parsed, and checked by the published schemas.
struct Manifests {
    /// The findings of the schemas.
    let findings: [String]
    let objects: [JSONValue]

    /// The Python that has the schemas; `deploy/install.sh test` makes it.
    private static let python = ReferenceScript.root.appending(path: ".build/python/bin/python3")

    static let isAvailable = FileManager.default.isExecutableFile(atPath: python.path)

    /// - Parameters:
    ///   - kind: `compose` or `kubernetes`.
    ///   - path: the file, or the folder of the overlay.
    init(_ kind: String, _ path: String) throws {
        let script = ReferenceScript("deploy/manifests.py", python: Self.python.path)
        let result = try script.run([kind, path])
        guard result.isSuccess else { throw PipelineFailure(result.text) }
        let document = try JSONDocument(parsing: Array(result.output)).root
        findings = document["findings"]?.elements.compactMap(\.string) ?? []
        objects = document.list("objects")
    }

    /// A copy of a folder of `deploy`, to be altered.
    static func copy(of folder: String) throws -> URL {
        let copy = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let source = ReferenceScript.root.appending(path: folder)
        try FileManager.default.copyItem(at: source, to: copy)
        return copy
    }

    static func replace(_ text: String, _ other: String, in file: URL) throws {
        let before = try String(contentsOf: file, encoding: .utf8)
        try #require(before.contains(text), "\(file.lastPathComponent) does not contain \(text)")
        try before.replacingOccurrences(of: text, with: other).write(to: file, atomically: true, encoding: .utf8)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test if the schemas are not installed, and says so.
    static var needsSchemas: Self { .enabled(if: Manifests.isAvailable, "run 'deploy/install.sh test' first") }
}

extension JSONValue {
    /// The members of an object whose values are texts, numbers or Booleans.
    var texts: [String: String] {
        members.reduce(into: [:]) { texts, member in
            guard let key = member.key.string else { return }
            texts[key] = member.value.string ?? String(decoding: member.value.rawBytes, as: UTF8.self)
        }
    }

    var strings: [String] { elements.compactMap(\.string) }

    /// The elements of a member that is an array; empty if it is absent.
    func list(_ key: String) -> [JSONValue] { self[key].map { Array($0.elements) } ?? [] }
}

extension JSONValue? {
    /// The elements of the value's member; empty for nil.
    func list(_ key: String) -> [JSONValue] { self?.list(key) ?? [] }
}
