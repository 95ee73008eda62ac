import TestSupport
import Testing

@testable import JSON

struct JSONLimitTests {
    static func code(_ bytes: [UInt8], limits: JSONLimits = .standard, policy: JSONPolicy = .strict) -> JSONError.Code?
    {
        do throws(JSONError) {
            _ = try JSONDocument(parsing: bytes, limits: limits, policy: policy)
            return nil
        } catch { return error.code }
    }

    static func nested(_ depth: Int) -> [UInt8] {
        Array(repeating: UInt8(ascii: "["), count: depth) + Array(repeating: UInt8(ascii: "]"), count: depth)
    }

    @Test func `a depth of 64 is accepted and one more is not`() {
        #expect(Self.code(Self.nested(64)) == nil)
        #expect(Self.code(Self.nested(65)) == .depthExceeded)
    }

    @Test func `a depth of 10,000 is refused, and read where it is allowed`() {
        #expect(Self.code(Self.nested(10_000)) == .depthExceeded)
        #expect(Self.code(Self.nested(10_000), limits: JSONLimits(depthMax: 10_000)) == nil)
        let open = Array(repeating: Array(#"{"a":["#.utf8), count: 10_000).flatMap { $0 }
        #expect(Self.code(open) == .depthExceeded)
        #expect(Self.code(open, limits: JSONLimits(depthMax: 20_000)) == .unexpectedEnd)
    }

    @Test func `keys and values count against the limit of nodes`() {
        let bytes = Array(#"{"a":[1,2,3]}"#.utf8)
        #expect(Self.code(bytes, limits: JSONLimits(nodesMax: 6)) == nil)
        #expect(Self.code(bytes, limits: JSONLimits(nodesMax: 5)) == .nodesExceeded)
    }

    @Test(.hopeless) func `an object of 100,000 members is checked in good time`() {
        let limits = JSONLimits(nodesMax: 300_000)
        // All keys are of one length and share their last byte, so no shortcut tells them apart.
        var members = (0..<100_000).map { #""key\#(100_000 + $0)x":0"# }
        let distinct = Array("{\(members.joined(separator: ","))}".utf8)
        #expect(Self.code(distinct, limits: limits) == nil)
        #expect(Self.code(distinct) == .nodesExceeded)
        members.append(#""key1000\u00300x":1"#)
        let doubled = Array("{\(members.joined(separator: ","))}".utf8)
        #expect(Self.code(doubled, limits: limits) == .duplicateKey)
        #expect(Self.code(doubled, limits: limits, policy: .grammar) == nil)
    }

    @Test(arguments: [2, 3, 31, 32, 33, 34, 200]) func `a doubled key is found wherever it stands`(count: Int) throws {
        let keys = (0..<count - 1).map { #""k\#($0)":[{"k":0}]"# }
        for index in [0, (count - 1) / 2, count - 2] {
            for place in [0, count / 2, count - 1] {
                var members = keys
                members.insert(#""\u006b\#(index)":null"#, at: place)
                let bytes = Array("{\(members.joined(separator: ", "))}".utf8)
                #expect(Self.code(bytes) == .duplicateKey)
                #expect(Self.code(bytes, policy: .grammar) == nil)
            }
        }
        #expect(Self.code(Array("{\(keys.joined(separator: ","))}".utf8)) == nil)
    }

    @Test func `equal keys of different objects are no fault`() {
        #expect(Self.code(Array(#"{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":3}}"#.utf8)) == nil)
    }

    @Test(arguments: [
        (#"{"":1,"":2}"#, 6), (#"{"a":1,"\u0061":2}"#, 7), (#"{"\u00e9":1,"é":2}"#, 12), (#"{"\/":1,"/":2}"#, 8),
        (#"{"\ud83d\ude00":1,"😀":2}"#, 18),
    ]) func `keys that are equal once decoded are doubled`(text: String, offset: Int) {
        #expect(throws: JSONError(code: .duplicateKey, offset: offset)) { try JSONDocument(parsing: Array(text.utf8)) }
    }
}
