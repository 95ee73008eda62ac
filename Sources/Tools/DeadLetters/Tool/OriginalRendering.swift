import AppStore
import Foundation
import JSON
import Kafka
import Records

/// The original of a dead letter for auditors: bounded in bytes and, unless it is revealed, limited
/// to what `Disclosure` lists.
struct OriginalRendering {
    let isRevealing: Bool
    /// The parts of the original that the letter lacks: `key`, `headers`, `value`.
    let omitted: Set<String>

    private static let headersMax = 200
    private static let headerBytesMax = 4 << 10
    private static let valueBytesMax = 64 << 10
    private static let partBytesMax = 16 << 10
    private static let partsBytesMax = 256 << 10

    /// The headers, the key and the value, each with a note.
    func shown(_ original: DeadLetterOriginal, _ contents: UnverifiedContents) -> JSONContent {
        var (headers, hidden, bytes): ([JSONContent], Int, Int) = ([], 0, 0)
        for header in original.headers {
            let isShown = Disclosure.shownHeaders.contains(header.name)
            guard headers.count < Self.headersMax,
                isRevealing || isShown || Disclosure.namedHeaders.contains(header.name)
            else {
                hidden += 1
                bytes += header.nameBytes.count + (header.value?.count ?? 0)
                continue
            }
            headers.append([
                "name": ShownBytes.beginning(header.name, 255),
                "value": header.value.map { text(of: $0, isShown: isShown) } ?? "(null)", "bytes": header.value?.count,
            ])
        }
        let note = omitted.contains("headers") ? "left out for their size" : nil
        let value = isRevealing || omitted.contains("value") ? nil : contents.root
        return [
            "headers": headers, "more_headers": hidden == 0 ? note : "<\(hidden) more headers, \(bytes) bytes hidden>",
            "key": content(original.key, "key"),
            "value": value.map {
                content(original.value, "value").replacing(
                    "text", by: JSONRendering.text($0, isRevealing: false, bytesMax: Self.valueBytesMax))
            } ?? content(original.value, "value"),
        ]
    }

    private func text(of value: [UInt8], isShown: Bool) -> String {
        guard !isRevealing else { return ShownBytes(value, bytesMax: Self.headerBytesMax).text }
        return isShown && UnverifiedText.isHarmless(value)
            ? String(decoding: value, as: UTF8.self) : Disclosure.hidden(value.count)
    }

    private func content(_ bytes: [UInt8]?, _ part: String) -> JSONContent {
        func note(_ text: String) -> JSONContent { ["note": text, "text": JSONContent.null] }
        guard !omitted.contains(part) else { return note("left out for its size") }
        guard let bytes else { return note("null") }
        guard !bytes.isEmpty else { return note("empty") }
        let shown = ShownBytes(bytes, bytesMax: isRevealing ? Self.valueBytesMax : 0)
        return [
            "note": "\(bytes.count) bytes, \(shown.form)",
            "text": isRevealing ? shown.text : Disclosure.hidden(bytes.count),
        ]
    }

    /// The decoded tokens and receipts of the original, and the records in the receipts.
    func decoded(_ contents: UnverifiedContents) -> [JSONContent] {
        var parts: [JSONContent] = []
        var bytes = 0
        func add(_ path: String, _ problem: String?, header: [UInt8]? = nil, payload: [UInt8]? = nil) {
            parts.append([
                "path": path, "problem": problem, "header": header.map { JSONContent.raw($0) },
                "payload": payload.map { JSONContent.raw($0) },
            ])
        }
        for part in contents.parts {
            guard bytes < Self.partsBytesMax else { break }
            func rendered(_ value: JSONValue?) -> [UInt8]? {
                value.map { Array(JSONRendering.text($0, isRevealing: isRevealing, bytesMax: Self.partBytesMax).utf8) }
            }
            let (header, payload) = (rendered(part.header), rendered(part.payload))
            add(part.text(isRevealing: isRevealing), part.problem, header: header, payload: payload)
            bytes += (header?.count ?? 0) + (payload?.count ?? 0)
        }
        let rest = contents.parts.count - parts.count
        if rest > 0 || !contents.isWhole { add("…", "\(rest > 0 ? "\(rest) " : "")more parts left out") }
        return parts
    }
}

extension UnverifiedContents.Part {
    private static let nameBytesMax = 64
    private static let pathBytesMax = 512

    /// The path of the part, cut to a maximum; a hidden name is shown as `?`.
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

/// Bytes in a form that people can read or copy, cut before they are converted.
package struct ShownBytes {
    /// `text`, `hex` or `base64`.
    package let form: String
    /// UTF-8 unchanged, a few other bytes as hexadecimal digits, or more bytes as lines of base64.
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

    /// Whether the bytes are UTF-8 without NUL; console and pages escape all other control characters.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// The beginning and the end of UTF-8, with the number of bytes left out between them.
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
    /// - Parameter mark: follows the text if it is cut.
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
