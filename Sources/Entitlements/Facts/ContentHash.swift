package import JSON
package import OpenSSL

/// What a signed payload says, apart from when it was signed.
///
/// The SHA-256 of `{"key":value,…}`: the payload's members sorted by key (the decoded key's bytes),
/// key and value each in its original bytes, nothing between them but `:` and `,`. Left out are
/// `signedDate`, `deviceVerification` and `deviceVerificationNonce`, which differ each time Apple
/// signs the same state.
package enum ContentHash {
    /// - Parameter payload: the object Apple signed; of any other value its bytes are hashed.
    package static func of(_ payload: JSONValue) -> SHA256Digest {
        guard payload.kind == .object else { return SHA256.digest(payload.rawBytes) }
        var members: [Member] = []
        members.reserveCapacity(payload.count)
        let base = payload.range.lowerBound
        let text = payload.rawBytes
        for (key, value) in payload.members {
            let member = Member(key: key, value: value, base: base)
            if !member.isExcluded(text.span) {
                members.append(member)
            }
        }
        sort(&members, text.span)
        return digest(members, text)
    }

    /// Insertion sort: a payload has some thirty members, and Apple writes them in few orders.
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

    private static func digest(
        _ members: [Member],
        _ text: ArraySlice<UInt8>
    ) -> SHA256Digest {
        var canonical: [UInt8] = []
        canonical.reserveCapacity(text.count + 2)
        canonical.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 {
                canonical.append(UInt8(ascii: ","))
            }
            member.append(to: &canonical, text)
        }
        canonical.append(UInt8(ascii: "}"))
        return SHA256.digest(canonical)
    }
}

extension ContentHash {
    /// Where a member stands in the payload's text.
    private struct Member {
        private let key: Range<Int>
        private let value: Range<Int>
        /// The key where it was written with escapes; else its text says it.
        private let decodedKey: [UInt8]?

        init(key: JSONValue, value: JSONValue, base: Int) {
            self.key = key.range.lowerBound - base..<key.range.upperBound - base
            self.value = value.range.lowerBound - base..<value.range.upperBound - base
            decodedKey = key.plainStringRange == nil ? key.stringBytes : nil
        }

        func isExcluded(_ text: borrowing Span<UInt8>) -> Bool {
            excludedNames.contains { name in
                nameCount == name.count && name.indices.allSatisfy { byte($0, text) == name[$0] }
            }
        }

        func precedes(_ other: Member, _ text: borrowing Span<UInt8>) -> Bool {
            let shared = min(nameCount, other.nameCount)
            var index = 0
            while index < shared {
                let (mine, theirs) = (byte(index, text), other.byte(index, text))
                if mine != theirs {
                    return mine < theirs
                }
                index += 1
            }
            return nameCount < other.nameCount
        }

        func append(to canonical: inout [UInt8], _ text: ArraySlice<UInt8>) {
            let start = text.startIndex
            canonical.append(contentsOf: text[start + key.lowerBound..<start + key.upperBound])
            canonical.append(UInt8(ascii: ":"))
            canonical.append(
                contentsOf: text[start + value.lowerBound..<start + value.upperBound]
            )
        }

        private var nameCount: Int {
            decodedKey?.count ?? key.count - 2
        }

        private func byte(_ index: Int, _ text: borrowing Span<UInt8>) -> UInt8 {
            decodedKey?[index] ?? text[key.lowerBound + 1 + index]
        }
    }

    private static let excludedNames: [[UInt8]] = [
        Array("signedDate".utf8), Array("deviceVerification".utf8),
        Array("deviceVerificationNonce".utf8),
    ]
}
