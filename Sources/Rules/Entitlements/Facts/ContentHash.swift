package import JSON
package import OpenSSL

/// The hash of a signed payload's content, which does not depend on the date of signing.
///
/// The hash is the SHA-256 of `{"key":value,…}`: the payload's members sorted by key (the decoded key's bytes), with
/// the original bytes of key and value, separated only by `:` and `,`. The hash omits `signedDate`,
/// `deviceVerification` and `deviceVerificationNonce`, which differ each time Apple signs the same state.
package enum ContentHash {
    /// - Parameter payload: the signed object; any other value is hashed by its bytes.
    package static func of(_ payload: JSONValue) -> SHA256Digest {
        guard payload.kind == .object else { return SHA256.digest(payload.rawBytes) }
        // Names with escapes are appended to the text in decoded form.
        var text = payload.documentBytes
        var members: [Member] = []
        members.reserveCapacity(payload.count)
        for span in payload.memberSpans {
            var name = span.key.lowerBound + 1..<span.key.upperBound - 1
            if span.isKeyEscaped {
                let start = text.count
                text += payload.decodedKey(of: span)
                name = start..<text.count
            }
            if !isExcluded(name, text.span) { members.append(Member(span, name: name, text.span)) }
        }
        sort(&members, text.span)
        return digest(members, text, byteCount: payload.range.count)
    }

    private static func isExcluded(_ name: Range<Int>, _ text: borrowing Span<UInt8>) -> Bool {
        switch name.count {
        case 10: equals("signedDate", name, in: text)
        case 18: equals("deviceVerification", name, in: text)
        case 23: equals("deviceVerificationNonce", name, in: text)
        default: false
        }
    }

    private static func equals(_ expected: StaticString, _ name: Range<Int>, in text: borrowing Span<UInt8>) -> Bool {
        for offset in 0..<expected.utf8CodeUnitCount where text[name.lowerBound + offset] != expected.utf8Start[offset]
        { return false }
        return true
    }

    /// Sorts by insertion: a payload has about thirty members, and Apple writes them in few orders.
    private static func sort(_ members: inout [Member], _ text: borrowing Span<UInt8>) {
        for index in members.indices.dropFirst() {
            let member = members[index]
            var place = index
            while place > 0, member.precedes(members[place - 1], text) {
                members[place] = members[place - 1]
                place -= 1
            }
            members[place] = member
        }
    }

    private static func digest(_ members: [Member], _ text: [UInt8], byteCount: Int) -> SHA256Digest {
        var canonical: [UInt8] = []
        canonical.reserveCapacity(byteCount + 2)
        canonical.append(UInt8(ascii: "{"))
        for member in members {
            if canonical.count > 1 { canonical.append(UInt8(ascii: ",")) }
            canonical.append(contentsOf: text[member.span.key])
            canonical.append(UInt8(ascii: ":"))
            canonical.append(contentsOf: text[member.span.value])
        }
        canonical.append(UInt8(ascii: "}"))
        return SHA256.digest(canonical)
    }
}

extension ContentHash {
    private struct Member {
        let span: JSONMemberSpan
        /// The position of the decoded name in the text.
        private let name: Range<Int>
        /// The first bytes of the name, big-endian, which decide most comparisons.
        private let start: UInt64

        init(_ span: JSONMemberSpan, name: Range<Int>, _ text: borrowing Span<UInt8>) {
            self.span = span
            self.name = name
            var start: UInt64 = 0
            for offset in 0..<8 {
                let byte = offset < name.count ? text[name.lowerBound + offset] : 0
                start = start << 8 | UInt64(byte)
            }
            self.start = start
        }

        func precedes(_ other: Member, _ text: borrowing Span<UInt8>) -> Bool {
            guard start == other.start else { return start < other.start }
            for offset in 0..<min(name.count, other.name.count) {
                let mine = text[name.lowerBound + offset]
                let theirs = text[other.name.lowerBound + offset]
                if mine != theirs { return mine < theirs }
            }
            return name.count < other.name.count
        }
    }
}
