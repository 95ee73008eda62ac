import JSON
import TestSupport
import Testing

/// The documents on which readers differ (JSONTestSuite's `test_transform`), and what ours says.
@Suite(.needsSharedData) struct JSONTransformTests {
    static let folder = "json/test_transform"

    static func first(_ name: String, _ policy: JSONPolicy = .strict) throws -> JSONValue {
        let bytes = try SharedData.vector("\(folder)/\(name).json")
        let root = try JSONDocument(parsing: bytes, policy: policy).root
        return try #require(root.elements.first { _ in true })
    }

    @Test(arguments: [
        ("number_-9223372036854775808", Int64.min), ("number_-9223372036854775809", nil), ("number_1.0", 1),
        ("number_1.000000000000000005", nil), ("number_1000000000000000", 1_000_000_000_000_000),
        ("number_10000000000000000999", nil), ("number_1e-999", nil), ("number_1e6", 1_000_000),
        ("number_9223372036854775807", Int64.max), ("number_9223372036854775808", nil),
    ]) func `integers are exact or nothing`(name: String, expected: Int64?) throws {
        #expect(try Self.first(name).int64 == expected)
    }

    @Test(arguments: SharedData.vectorNames(in: folder).filter { $0.hasPrefix("number_") })
    func `a number keeps its text`(name: String) throws {
        let bytes = try SharedData.vector("\(Self.folder)/\(name)")
        let value = try Self.first(String(name.dropLast(".json".count)))
        let text = String(decoding: value.rawBytes, as: UTF8.self)
        #expect(String(decoding: bytes, as: UTF8.self).contains("[\(text)]"))
    }

    @Test(arguments: ["object_key_nfc_nfd", "object_key_nfd_nfc"]) func `keys are compared as bytes, not as characters`(
        name: String
    ) throws {
        let bytes = try SharedData.vector("\(Self.folder)/\(name).json")
        let root = try JSONDocument(parsing: bytes).root
        #expect(root.count == 2)
        #expect(root["\u{E9}"]?.string != root["e\u{301}"]?.string)
    }

    @Test(arguments: [
        "object_same_key_different_values", "object_same_key_same_value", "object_same_key_unclear_values",
    ]) func `a doubled key is refused, and in the grammar the first counts`(name: String) throws {
        let bytes = try SharedData.vector("\(Self.folder)/\(name).json")
        #expect(JSONLimitTests.code(bytes) == .duplicateKey)
        let root = try JSONDocument(parsing: bytes, policy: .grammar).root
        #expect(root.count == 2)
        #expect(root["a"]?.range == root.members.first { _ in true }?.value.range)
    }

    @Test(arguments: [
        ("string_1_escaped_invalid_codepoint", JSONError.Code.loneSurrogate),
        ("string_2_escaped_invalid_codepoints", .loneSurrogate),
        ("string_3_escaped_invalid_codepoints", .loneSurrogate), ("string_1_invalid_codepoint", .notUTF8),
        ("string_2_invalid_codepoints", .notUTF8), ("string_3_invalid_codepoints", .notUTF8),
        ("string_with_escaped_NULL", .nulInString),
    ]) func `text that other readers repair is refused`(name: String, code: JSONError.Code) throws {
        let bytes = try SharedData.vector("\(Self.folder)/\(name).json")
        #expect(JSONLimitTests.code(bytes) == code)
    }

    @Test func `a lone surrogate that the grammar lets through has no text`() throws {
        let value = try Self.first("string_1_escaped_invalid_codepoint", .grammar)
        #expect(value.kind == .string)
        #expect(value.string == nil && value.stringBytes == nil)
    }
}
