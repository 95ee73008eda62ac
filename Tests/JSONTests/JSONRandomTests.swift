import Foundation
import JSON
import Testing

/// Random documents and random damage, with a generator that repeats.
struct JSONRandomTests {
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    static func write(_ writer: inout JSONWriter, depth: Int, using random: inout Generator) {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: writer.null()
        case 1: writer.bool(Bool.random(using: &random))
        case 2: writer.int(Int64.random(in: .min ... .max, using: &random))
        case 3: writer.double(Double(Int32.random(in: .min ... .max, using: &random)) / 8)
        case 4, 5: writer.string(text(using: &random))
        case 6:
            writer.beginArray()
            for _ in 0..<Int.random(in: 0..<5, using: &random) { write(&writer, depth: depth - 1, using: &random) }
            writer.endArray()
        default:
            writer.beginObject()
            for index in 0..<Int.random(in: 0..<40, using: &random) {
                writer.key("\(index) \(text(using: &random))")
                write(&writer, depth: depth - 1, using: &random)
            }
            writer.endObject()
        }
    }

    static func text(using random: inout Generator) -> String {
        let alphabet = Array("ab\"\\/\n\u{1}\u{1F}é€😀 {}[]:,0123456789")
        let count = Int.random(in: 0..<20, using: &random)
        return String((0..<count).compactMap { _ in alphabet.randomElement(using: &random) })
    }

    @Test(arguments: 0..<50) func `what the writer writes, this reader and Foundation's read alike`(seed: UInt64) throws
    {
        var random = Generator(state: seed)
        var writer = JSONWriter()
        writer.beginArray()
        Self.write(&writer, depth: 4, using: &random)
        writer.endArray()
        let root = try JSONDocument(parsing: writer.bytes).root
        let theirs = try JSONSerialization.jsonObject(with: Data(writer.bytes))
        #expect(Self.difference(root, theirs) == nil)
    }

    @Test func `a double that was written is read again`() throws {
        var random = Generator(state: 7)
        for _ in 0..<1_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            var writer = JSONWriter()
            writer.double(value)
            #expect(try JSONDocument(parsing: writer.bytes).root.double == value)
        }
    }

    /// The first value that the two readers do not agree on.
    static func difference(_ ours: JSONValue, _ theirs: Any?) -> String? {
        let isEqual: Bool
        switch ours.kind {
        case .null: isEqual = theirs is NSNull
        case .bool: isEqual = ours.bool == (theirs as? NSNumber)?.boolValue
        case .string: isEqual = ours.stringBytes == (theirs as? String).map { Array($0.utf8) }
        case .number:
            let number = theirs as? NSNumber
            isEqual = ours.int64.map { $0 == number?.int64Value } ?? (ours.double == number as? Double)
        case .array:
            let others = theirs as? [Any] ?? []
            let differences = zip(ours.elements, others).lazy.compactMap(difference)
            if let first = Array(differences).first { return first }
            isEqual = theirs is [Any] && ours.count == others.count
        case .object:
            let others = theirs as? [String: Any] ?? [:]
            let differences = ours.members.lazy.compactMap { key, value in difference(value, others[key.string ?? ""]) }
            if let first = Array(differences).first { return first }
            isEqual = theirs is [String: Any] && ours.count == others.count
        }
        return isEqual ? nil : "\(String(decoding: ours.rawBytes, as: UTF8.self)) is \(theirs ?? "-")"
    }

    @Test(arguments: 0..<200) func `damaged documents end in a value or an error inside the input`(seed: UInt64) {
        var random = Generator(state: 1000 + seed)
        var writer = JSONWriter()
        writer.beginArray()
        Self.write(&writer, depth: 3, using: &random)
        writer.endArray()
        for _ in 0..<20 {
            var bytes = writer.bytes
            for _ in 0..<Int.random(in: 1..<4, using: &random) { Self.damage(&bytes, using: &random) }
            do throws(JSONError) {
                let root = try JSONDocument(parsing: bytes, policy: .grammar).root
                Self.visit(root)
            } catch { #expect((0...bytes.count).contains(error.offset)) }
        }
    }

    static func damage(_ bytes: inout [UInt8], using random: inout Generator) {
        guard let index = bytes.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.removeSubrange(index...)
        default:
            let inserted = #"{}[]",:\u0d8ce-.1 "#.utf8.randomElement(using: &random) ?? 0
            bytes.insert(inserted, at: index)
        }
    }

    static func visit(_ value: JSONValue) {
        _ = (value.string, value.int64, value.int64RoundedDown, value.double, value.bool)
        for element in value.elements { visit(element) }
        for (key, member) in value.members {
            _ = key.string
            visit(member)
        }
    }
}
