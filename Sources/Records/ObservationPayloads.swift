import AppStore
package import Entitlements
import JSON

/// What Apple signed, byte for byte: the last member of an observation, and opaque to every stage
/// after `verify-worker`.
///
/// The head says how long each payload is. So a payload is found without a look at its bytes, and
/// what a record costs does not grow with them.
package struct ObservationPayloads: Sendable {
    private var payloads: InlineArray<4, ArraySlice<UInt8>?> = InlineArray(repeating: nil)

    package static let none = ObservationPayloads()

    private init() {}

    /// The bytes of what the verifier has accepted.
    init(_ signed: SignedPayloads) {
        self[.transaction] = signed.transaction?.json.rawBytes
        self[.renewalInfo] = signed.renewalInfo?.json.rawBytes
        self[.appTransaction] = signed.appTransaction?.json.rawBytes
        self[.receipt] = signed.receipt?.rawBytes
    }

    /// The bytes of a payload; nil where there is none.
    package private(set) subscript(kind: SignedPayloadKind) -> ArraySlice<UInt8>? {
        get { payloads[kind.index] }
        set { payloads[kind.index] = newValue }
    }

    package var isEmpty: Bool { SignedPayloadKind.allCases.allSatisfy { self[$0] == nil } }

    /// What the bytes from the head's end to the value's are, at most.
    var writtenBytes: Int {
        SignedPayloadKind.allCases.reduce(Self.opening.count + Self.closing.count) {
            guard let payload = self[$1] else { return $0 }
            return $0 + payload.count + $1.rawValue.utf8.count + Self.memberBytes
        }
    }

    /// The quotes, the colon and the comma of a member.
    private static let memberBytes = 4

    /// Writes the member with the comma before it, and closes the observation.
    func append(to value: inout [UInt8]) {
        value.append(contentsOf: Self.opening)
        var isFirst = true
        for kind in SignedPayloadKind.allCases {
            guard let payload = self[kind] else { continue }
            value.append(contentsOf: kind.opening(isFirst: isFirst))
            value.append(contentsOf: payload)
            isFirst = false
        }
        value.append(contentsOf: Self.closing)
    }

    private static let opening = Array(#","payloads":{"#.utf8)
    private static let closing = Array("}}".utf8)
}

extension ObservationPayloads {
    /// How long each payload is, for the head.
    func writeLengths(to writer: inout JSONWriter) {
        writer.beginObject()
        for kind in SignedPayloadKind.allCases {
            if let payload = self[kind] {
                writer.key(kind.name)
                writer.int(payload.count)
            }
        }
        writer.endObject()
    }

    /// Finds the payloads by what the head says: there is one for each of its facts.
    init(
        reading object: HeadReader?,
        of facts: SignedFacts,
        in value: [UInt8],
        from start: Int
    ) throws(ObservationError) {
        var lengths = InlineArray<4, Int?>(repeating: nil)
        if var object {
            for kind in SignedPayloadKind.allCases {
                lengths[kind.index] = try object.optionalInt(kind.name, in: 1...Int.max)
            }
        }
        func has(_ kind: SignedPayloadKind) -> Bool { lengths[kind.index] != nil }
        guard has(.transaction) == (facts.transaction != nil),
            has(.renewalInfo) == (facts.renewal != nil),
            has(.appTransaction) == (facts.appTransaction != nil)
        else { throw .payloads }
        try self.init(in: value, from: start, lengths: lengths)
    }

    /// Finds the payloads in a value, by their lengths.
    ///
    /// - Parameters:
    ///   - start: where the head ends.
    ///   - lengths: in the order of the payloads; nil for one that is not there.
    private init(
        in value: [UInt8],
        from start: Int,
        lengths: InlineArray<4, Int?>
    ) throws(ObservationError) {
        var position = start
        func pass(_ expected: [UInt8]) throws(ObservationError) {
            guard expected.count <= value.count - position else { throw .payloads }
            for offset in expected.indices where value[position + offset] != expected[offset] {
                throw .payloads
            }
            position += expected.count
        }
        try pass(Self.opening)
        var isFirst = true
        for kind in SignedPayloadKind.allCases {
            guard let length = lengths[kind.index] else { continue }
            try pass(kind.opening(isFirst: isFirst))
            guard length <= value.count - position else { throw .payloads }
            self[kind] = value[position..<position + length]
            position += length
            isFirst = false
        }
        try pass(Self.closing)
        guard position == value.count else { throw .payloads }
    }
}

extension SignedPayloadKind {
    fileprivate var index: Int {
        switch self {
        case .transaction: 0
        case .renewalInfo: 1
        case .appTransaction: 2
        case .receipt: 3
        }
    }

    fileprivate var name: StaticString {
        switch self {
        case .transaction: "transaction"
        case .renewalInfo: "renewalInfo"
        case .appTransaction: "appTransaction"
        case .receipt: "receipt"
        }
    }

    /// What stands before the payload's bytes.
    fileprivate func opening(isFirst: Bool) -> [UInt8] {
        (isFirst ? Self.firstOpenings : Self.openings)[index]
    }

    private static let firstOpenings = allCases.map { Array("\"\($0.rawValue)\":".utf8) }
    private static let openings = allCases.map { Array(",\"\($0.rawValue)\":".utf8) }
}
