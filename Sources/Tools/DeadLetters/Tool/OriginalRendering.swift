import AppStore
import Foundation
import JSON
import Kafka
import Records

/// The original of a dead letter as auditors see it, in the tool and in the console alike: bounded
/// in bytes, and without what `Disclosure` does not list unless it is revealed.
package struct OriginalRendering: Sendable {
    /// Key or value: a line about it, and its text, which only a text of the same size replaces.
    package struct Content: Sendable {
        package let note: String
        package fileprivate(set) var text: String?
    }

    package struct Header: Sendable {
        package let name: String
        package let value: String
        /// The size of the value; nil if it is null.
        package let bytes: Int?
    }

    /// A token, a receipt or one of its records, decoded.
    package struct Part: Sendable {
        package let path: String
        package let problem: String?
        package let header: String?
        package let payload: String?

        fileprivate var bytes: Int { [path, problem, header, payload].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
    }

    package private(set) var headers: [Header] = []
    /// A note with the number of hidden headers and of their bytes.
    ///
    /// `nil` if no header is hidden.
    package private(set) var headersNote: String?
    package let headersAreOmitted: Bool
    package let key: Content
    package let value: Content
    package private(set) var parts: [Part] = []
    /// A note if there are more parts.
    package private(set) var partsNote: String?

    private let isRevealing: Bool

    private static let headersMax = 200
    private static let headerBytesMax = 4 << 10
    private static let valueBytesMax = 64 << 10
    private static let partBytesMax = 16 << 10
    private static let partsBytesMax = 256 << 10

    init(_ letter: DeadLetter, _ original: DeadLetterOriginal, _ contents: UnverifiedContents, isRevealing: Bool) {
        func isOmitted(_ part: String) -> Bool {
            letter.omitted?.split(separator: ",").contains { $0 == part } ?? false
        }
        self.isRevealing = isRevealing
        headersAreOmitted = isOmitted("headers")
        key = Self.content(original.key, isOmitted: isOmitted("key"), isRevealing: isRevealing)
        var value = Self.content(original.value, isOmitted: letter.value == .omitted, isRevealing: isRevealing)
        if !isRevealing, letter.value != .omitted, let root = contents.root {
            value.text = JSONRendering.text(root, isRevealing: false, bytesMax: Self.valueBytesMax)
        }
        self.value = value
        addHeaders(original.headers)
        addParts(contents)
    }

    private mutating func addHeaders(_ all: [KafkaHeader]) {
        var (hidden, bytes) = (0, 0)
        for header in all {
            let isShown = Disclosure.shownHeaders.contains(header.name)
            guard headers.count < Self.headersMax,
                isRevealing || isShown || Disclosure.namedHeaders.contains(header.name)
            else {
                hidden += 1
                bytes += header.nameBytes.count + (header.value?.count ?? 0)
                continue
            }
            headers.append(
                Header(
                    name: ShownBytes.beginning(header.name, 255),
                    value: header.value.map { text(of: $0, isShown: isShown) } ?? "(null)", bytes: header.value?.count))
        }
        headersNote = hidden == 0 ? nil : "<\(hidden) more headers, \(bytes) bytes hidden>"
    }

    private func text(of value: [UInt8], isShown: Bool) -> String {
        guard !isRevealing else { return ShownBytes(value, bytesMax: Self.headerBytesMax).text }
        return isShown && UnverifiedText.isHarmless(value)
            ? String(decoding: value, as: UTF8.self) : Disclosure.hidden(value.count)
    }

    private mutating func addParts(_ contents: UnverifiedContents) {
        var bytes = 0
        for part in contents.parts {
            guard bytes < Self.partsBytesMax else { break }
            func text(_ value: JSONValue?) -> String? {
                value.map { JSONRendering.text($0, isRevealing: isRevealing, bytesMax: Self.partBytesMax) }
            }
            let added = Part(
                path: part.text(isRevealing: isRevealing), problem: part.problem, header: text(part.header),
                payload: text(part.payload))
            parts.append(added)
            bytes += added.bytes
        }
        let rest = contents.parts.count - parts.count
        if rest > 0 || !contents.isWhole { partsNote = "[… \(rest > 0 ? "\(rest) " : "")more parts left out …]" }
    }

    private static func content(_ bytes: [UInt8]?, isOmitted: Bool, isRevealing: Bool) -> Content {
        guard !isOmitted else { return Content(note: "left out for its size") }
        guard let bytes else { return Content(note: "null") }
        guard !bytes.isEmpty else { return Content(note: "empty") }
        let shown = ShownBytes(bytes, bytesMax: isRevealing ? valueBytesMax : 0)
        return Content(
            note: "\(bytes.count) bytes, \(shown.form)", text: isRevealing ? shown.text : Disclosure.hidden(bytes.count)
        )
    }
}

extension UnverifiedContents.Part {
    private static let nameBytesMax = 64
    private static let pathBytesMax = 512

    /// Its path, bounded, with the names of members that may be shown.
    func text(isRevealing: Bool) -> String {
        let path = path.text { key in
            if let known = Disclosure.name(of: key) { return known.text }
            guard isRevealing else { return "?" }
            let name = key.rawBytes.dropFirst().dropLast().prefix(Self.nameBytesMax)
            return String(decoding: name, as: UTF8.self)
        }
        let text = path + (record.map { ".in_app[\($0)]" } ?? "")
        return ShownBytes.beginning(text, Self.pathBytesMax)
    }
}

/// Bytes in a form that people can read or copy, cut before the text is made.
package struct ShownBytes {
    /// `text`, `hex` or `base64`.
    package let form: String
    /// UTF-8 as it is; a few other bytes as hexadecimal digits; more as base64 in lines.
    package let text: String

    private static let hexBytesMax = 64

    package init(_ bytes: [UInt8], bytesMax: Int) {
        let kept = bytes.prefix(bytesMax)
        if Self.isText(bytes) {
            form = "text"
            text = Self.abbreviated(bytes, bytesMax)
        } else {
            let isShort = bytes.count <= Self.hexBytesMax
            form = isShort ? "hex" : "base64"
            let rest = bytes.count - kept.count
            let body = isShort ? Self.hex(kept) : Self.base64(kept)
            text = body + (rest > 0 ? "\n[… \(rest) bytes left out …]" : "")
        }
    }

    /// Whether it is UTF-8 without NUL; console and pages escape every other control character.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// The beginning and the end of UTF-8, with the number of bytes between them.
    static func abbreviated(_ text: [UInt8], _ bytesMax: Int) -> String {
        guard text.count > bytesMax else { return String(decoding: text, as: UTF8.self) }
        let end = text.suffix(bytesMax / 4).drop { isContinuation($0) }
        let start = text[..<wholeEnd(text, bytesMax - bytesMax / 4)]
        let leftOut = text.count - start.count - end.count
        return String(decoding: start, as: UTF8.self) + "\n[… \(leftOut) bytes left out …]\n"
            + String(decoding: end, as: UTF8.self)
    }

    /// The beginning of a text, with a maximum of bytes, cut between characters.
    ///
    /// - Parameter mark: follows it where it is cut.
    package static func beginning(_ text: String, _ bytesMax: Int, mark: String = "…") -> String {
        guard text.utf8.count > bytesMax else { return text }
        let bytes = Array(text.utf8.prefix(bytesMax + 1))
        return String(decoding: bytes[..<wholeEnd(bytes, bytesMax)], as: UTF8.self) + mark
    }

    /// The end of the last code point that ends at or before this index, which lies in the text.
    private static func wholeEnd(_ text: [UInt8], _ index: Int) -> Int {
        var end = index
        while end > 0, isContinuation(text[end]) { end -= 1 }
        return end
    }

    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    private static func hex(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }

    private static func base64(_ bytes: ArraySlice<UInt8>) -> String {
        Data(bytes).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
    }
}
