import TestSupport
import Testing

@testable import JSON

/// The whole of JSONTestSuite, against the grammar and against the policy.
@Suite(.needsSharedData) struct JSONTestSuite {
    static let folder = "json/test_parsing"
    static let names = SharedData.vectorNames(in: folder)

    static func code(_ name: String, _ policy: JSONPolicy) throws -> JSONError.Code? {
        do {
            let bytes = try SharedData.vector("\(folder)/\(name)")
            _ = try JSONDocument(parsing: bytes, policy: policy)
            return nil
        } catch let error as JSONError { return error.code }
    }

    @Test func `the suite is there in full`() {
        #expect(Self.names.count { $0.hasPrefix("y_") } == 95)
        #expect(Self.names.count { $0.hasPrefix("n_") } == 188)
        #expect(Self.names.count { $0.hasPrefix("i_") } == 35)
    }

    @Test(arguments: names.filter { $0.hasPrefix("y_") }) func `valid documents parse`(name: String) throws {
        #expect(try Self.code(name, .grammar) == nil)
    }

    /// Texts that the policy refuses although the grammar allows them.
    static let strictRefusals: [String: JSONError.Code] = [
        "y_object_duplicated_key.json": .duplicateKey, "y_object_duplicated_key_and_value.json": .duplicateKey,
        "y_object_escaped_null_in_key.json": .nulInString, "y_string_null_escape.json": .nulInString,
    ]

    @Test(arguments: names.filter { $0.hasPrefix("y_") })
    func `the policy refuses only what two readers could understand differently`(name: String) throws {
        #expect(try Self.code(name, .strict) == Self.strictRefusals[name])
    }

    @Test(arguments: names.filter { $0.hasPrefix("n_") }, [JSONPolicy.grammar, .strict])
    func `invalid documents do not parse`(name: String, policy: JSONPolicy) throws {
        #expect(try Self.code(name, policy) != nil)
    }

    /// Our errors in cases that the specification leaves open, by policy.
    ///
    /// `nil` if accepted.
    static let decisions: [(prefix: String, grammar: JSONError.Code?, strict: JSONError.Code?)] = [
        ("i_number_", nil, nil), ("i_object_key_lone_2nd_surrogate", nil, .loneSurrogate),
        ("i_string_1st_surrogate_but_2nd_missing", nil, .loneSurrogate),
        ("i_string_1st_valid_surrogate_2nd_invalid", nil, .loneSurrogate),
        ("i_string_UTF-16LE_with_BOM", .byteOrderMark, .byteOrderMark),
        ("i_string_UTF-8_invalid_sequence", .notUTF8, .notUTF8), ("i_string_UTF8_surrogate_U+D800", .notUTF8, .notUTF8),
        ("i_string_incomplete_surrogate", nil, .loneSurrogate),
        ("i_string_invalid_lonely_surrogate", nil, .loneSurrogate), ("i_string_invalid_surrogate", nil, .loneSurrogate),
        ("i_string_invalid_utf-8", .notUTF8, .notUTF8), ("i_string_inverted_surrogates_U+1D11E", nil, .loneSurrogate),
        ("i_string_iso_latin_1", .notUTF8, .notUTF8), ("i_string_lone_second_surrogate", nil, .loneSurrogate),
        ("i_string_lone_utf8_continuation_byte", .notUTF8, .notUTF8),
        ("i_string_not_in_unicode_range", .notUTF8, .notUTF8), ("i_string_overlong_sequence_", .notUTF8, .notUTF8),
        ("i_string_truncated-utf-8", .notUTF8, .notUTF8), ("i_string_utf16BE_no_BOM", .unexpectedByte, .unexpectedByte),
        ("i_string_utf16LE_no_BOM", .unexpectedByte, .unexpectedByte),
        ("i_structure_500_nested_arrays", .depthExceeded, .depthExceeded),
        ("i_structure_UTF-8_BOM_empty_object", nil, .byteOrderMark),
    ]

    @Test(arguments: names.filter { $0.hasPrefix("i_") }) func `what the specification leaves open is decided once`(
        name: String
    ) throws {
        let decision = try #require(Self.decisions.first { name.hasPrefix($0.prefix) })
        #expect(try Self.code(name, .grammar) == decision.grammar)
        #expect(try Self.code(name, .strict) == decision.strict)
    }

    @Test func `a deeper limit accepts 500 nested arrays`() throws {
        let bytes = try SharedData.vector("\(Self.folder)/i_structure_500_nested_arrays.json")
        _ = try JSONDocument(parsing: bytes, limits: JSONLimits(depthMax: 500))
        #expect(throws: JSONError(code: .depthExceeded, offset: 499)) {
            try JSONDocument(parsing: bytes, limits: JSONLimits(depthMax: 499))
        }
    }
}
