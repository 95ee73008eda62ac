import JSON

/// Leaves out of a dead letter's contents what could be used again: tokens, signatures, receipts
/// and the tokens of accounts.
package enum Redaction {
    /// A longer run of the characters of base64 is no word; base64 in lines has 64 or 76 of them.
    private static let runMax = 50

    /// The members whose values name an account, a device or a person.
    private static let secretNames: Set<String> = [
        "appAccountToken", "appTransactionId", "deviceVerification", "deviceVerificationNonce",
        "userId", "userID", "user_id", "user-id", "customerId", "accountId", "email", "phone",
        "name", "firstName", "lastName", "address",
    ]

    /// Whether the original's header of this name may name a person.
    static func isSecret(header name: String) -> Bool {
        secretNames.contains(name) || name.hasPrefix("user")
    }

    /// A value in lines, as JSON.
    ///
    /// - Parameter isRevealing: leaves nothing out.
    static func pretty(_ value: JSONValue, isRevealing: Bool) -> String {
        var text = ""
        write(value, isSecret: false, isRevealing, indent: "", to: &text)
        return text
    }

    /// Recursive, as deep as the reader lets JSON nest.
    private static func write(
        _ value: JSONValue,
        isSecret: Bool,
        _ isRevealing: Bool,
        indent: String,
        to text: inout String
    ) {
        let isList = value.kind == .array
        guard value.kind == .object || isList, value.count > 0 else {
            let content = value.kind == .string ? value.stringBytes : nil
            if let content, !isRevealing, isSecret || isReusable(content[...]) {
                text += "\"<\(content.count) characters left out>\""
            } else {
                text += String(decoding: value.rawBytes, as: UTF8.self)
            }
            return
        }
        let inner = indent + "  "
        text += isList ? "[" : "{"
        var separator = "\n"
        for element in value.elements {
            text += separator + inner
            write(element, isSecret: isSecret, isRevealing, indent: inner, to: &text)
            separator = ",\n"
        }
        for (key, member) in value.members {
            text += separator + inner + String(decoding: key.rawBytes, as: UTF8.self) + ": "
            let isSecret = isSecret || secretNames.contains(key.string ?? "")
            write(member, isSecret: isSecret, isRevealing, indent: inner, to: &text)
            separator = ",\n"
        }
        text += "\n" + indent + (isList ? "]" : "}")
    }

    /// Text that may be no JSON, in one pass.
    package static func text(_ bytes: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let end = runEnd(in: bytes, from: index)
            guard end > index else {
                kept.append(bytes[index])
                index += 1
                continue
            }
            let run = bytes[index..<end]
            let value = isName(run) ? accountValue(in: bytes, after: end) : nil
            if let value {
                kept += bytes[index..<value.lowerBound] + leftOut(value.count)
                index = value.upperBound
            } else {
                kept += isReusable(run) ? leftOut(run.count) : Array(run)
                index = end
            }
        }
        return kept
    }

    /// A slash may be escaped, as some writers of JSON do.
    private static func runEnd(in bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count {
            let isEscaped =
                bytes[index] == UInt8(ascii: "\\") && index + 1 < bytes.count
                && bytes[index + 1] == UInt8(ascii: "/")
            guard isEscaped || isTokenCharacter(bytes[index]) else { break }
            index += isEscaped ? 2 : 1
        }
        return index
    }

    /// The characters of the string that stands behind a key and a colon.
    private static func accountValue(in bytes: [UInt8], after key: Int) -> Range<Int>? {
        var index = key
        var quotes = 0
        // The key's own end, a colon, blanks and the string's beginning.
        while index < bytes.count, quotes < 2 {
            switch bytes[index] {
            case UInt8(ascii: "\""): quotes += 1
            case UInt8(ascii: ":"), UInt8(ascii: "\\"), 0x20, 0x09, 0x0A, 0x0D: break
            default: return nil
            }
            index += 1
        }
        let end = bytes[index...].firstIndex { $0 == UInt8(ascii: "\"") } ?? bytes.count
        return quotes == 2 ? index..<end : nil
    }

    private static func isName(_ run: ArraySlice<UInt8>) -> Bool {
        run.count <= runMax && secretNames.contains(String(decoding: run, as: UTF8.self))
    }

    private static func leftOut(_ count: Int) -> [UInt8] {
        Array("<\(count) characters left out>".utf8)
    }

    /// A long run of base64, or what begins like a JWS and has its dots.
    private static func isReusable(_ text: ArraySlice<UInt8>) -> Bool {
        let run = text.prefix { isTokenCharacter($0) || $0 == UInt8(ascii: "\\") }
        guard run.count <= runMax else { return true }
        return run.starts(with: "eyJ".utf8) && run.contains(UInt8(ascii: "."))
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="), UInt8(ascii: "."):
            true
        default:
            false
        }
    }
}
