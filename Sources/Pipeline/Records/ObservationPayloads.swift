import AppStore
package import Entitlements
import JSON

/// Apple's signed payloads, unchanged; they are the last member of an observation, and no stage after `verify-worker`
/// reads them.
///
/// The head states the length of each payload, so a payload is found without reading its bytes, and the cost of a
/// record does not grow with them.
package struct ObservationPayloads: Sendable {
    /// The bytes that contain the payloads: a record's value, or a body that the verifier accepted.
    private let bytes: [UInt8]
    /// The range of each payload, in the order of their kinds.
    ///
    /// `nil` if absent.
    private let ranges: Ranges

    private typealias Ranges = InlineArray<4, Range<Int>?>

    static let member: StaticString = "payloads"

    package static let none = ObservationPayloads(bytes: [], ranges: Ranges(repeating: nil))

    private init(bytes: [UInt8], ranges: Ranges) {
        self.bytes = bytes
        self.ranges = ranges
    }

    /// Makes the payloads from the bytes that the verifier accepted.
    init(_ signed: SignedPayloads) {
        var joined: [UInt8] = []
        var ranges = Ranges(repeating: nil)
        func add(_ payload: ArraySlice<UInt8>?, _ kind: SignedPayloadKind) {
            guard let payload else { return }
            ranges[kind.index] = joined.count..<joined.count + payload.count
            if joined.isEmpty {
                // Most observations have only one payload: an array of the whole slice shares its bytes.
                joined = Array(payload)
            } else {
                joined.append(contentsOf: payload)
            }
        }
        add(signed.transaction?.json.rawBytes, .transaction)
        add(signed.renewalInfo?.json.rawBytes, .renewalInfo)
        add(signed.appTransaction?.json.rawBytes, .appTransaction)
        add(signed.receipt?.rawBytes, .receipt)
        self.init(bytes: joined, ranges: ranges)
    }

    /// The bytes of a payload.
    ///
    /// `nil` if the observation has no payload of this kind.
    package subscript(kind: SignedPayloadKind) -> ArraySlice<UInt8>? { range(of: kind).map { bytes[$0] } }

    package var isEmpty: Bool { SignedPayloadKind.allCases.allSatisfy { range(of: $0) == nil } }

    private func range(of kind: SignedPayloadKind) -> Range<Int>? { ranges[kind.index] }

    /// Maximum bytes from the head's end to the value's end.
    var writtenBytes: Int {
        SignedPayloadKind.allCases.reduce(Self.opening.count + Self.closing.count) {
            guard let range = range(of: $1) else { return $0 }
            return $0 + range.count + $1.rawValue.utf8.count + Self.memberBytes
        }
    }

    /// Number of bytes for the quotes, the colon and the comma of a member.
    private static let memberBytes = 4

    /// Writes the member with the comma before it, and closes the observation.
    func append(to value: inout [UInt8]) {
        value.append(contentsOf: Self.opening)
        var isFirst = true
        for kind in SignedPayloadKind.allCases {
            guard let range = range(of: kind) else { continue }
            value.append(contentsOf: kind.opening(isFirst: isFirst))
            value.append(contentsOf: bytes[range])
            isFirst = false
        }
        value.append(contentsOf: Self.closing)
    }

    private static let opening = Array(",\"\(member)\":{".utf8)
    private static let closing = Array("}}".utf8)
}

extension ObservationPayloads {
    /// Writes the length of each payload into the head.
    func writeLengths(to writer: inout JSONWriter) {
        writer.beginObject()
        for kind in SignedPayloadKind.allCases {
            if let range = range(of: kind) {
                writer.key(kind.name)
                writer.int(range.count)
            }
        }
        writer.endObject()
    }

    /// The length of each payload, in the order of their kinds.
    ///
    /// `nil` if absent.
    typealias Lengths = InlineArray<4, Int?>

    static func lengths(reading object: inout some HeadMembers) throws(ObservationError) -> Lengths {
        var lengths = Lengths(repeating: nil)
        for kind in SignedPayloadKind.allCases {
            lengths[kind.index] = try object.optionalInt(kind.name, in: 1...Int.max)
        }
        return lengths
    }

    /// Finds the payloads by the head's lengths: each fact has one payload.
    ///
    /// - Parameters:
    ///   - lengths: the lengths in the head; `nil` if the head lists no payloads.
    ///   - start: the end of the head.
    init(_ lengths: Lengths?, of facts: SignedFacts, in value: [UInt8], from start: Int) throws(ObservationError) {
        let lengths = lengths ?? Lengths(repeating: nil)
        for kind in SignedPayloadKind.allCases {
            guard let isStated = facts.has(kind) else { continue }
            guard isStated == (lengths[kind.index] != nil) else { throw .payloads }
        }
        try self.init(in: value, from: start, lengths: lengths)
    }

    private init(in value: [UInt8], from start: Int, lengths: Lengths) throws(ObservationError) {
        var ranges = Ranges(repeating: nil)
        var position = start
        func pass(_ expected: [UInt8]) throws(ObservationError) {
            guard expected.count <= value.count - position else { throw .payloads }
            for offset in expected.indices where value[position + offset] != expected[offset] { throw .payloads }
            position += expected.count
        }
        try pass(Self.opening)
        var isFirst = true
        for kind in SignedPayloadKind.allCases {
            guard let length = lengths[kind.index] else { continue }
            try pass(kind.opening(isFirst: isFirst))
            guard length <= value.count - position else { throw .payloads }
            ranges[kind.index] = position..<position + length
            position += length
            isFirst = false
        }
        try pass(Self.closing)
        guard position == value.count else { throw .payloads }
        self.init(bytes: value, ranges: ranges)
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

    /// The bytes that precede the payload.
    fileprivate func opening(isFirst: Bool) -> [UInt8] { (isFirst ? Self.firstOpenings : Self.openings)[index] }

    private static let firstOpenings = allCases.map { Array("\"\($0.rawValue)\":".utf8) }
    private static let openings = allCases.map { Array(",\"\($0.rawValue)\":".utf8) }
}

extension SignedFacts {
    /// Whether the observation has the facts of a payload of this kind.
    ///
    /// `nil` for a receipt, which becomes no fact.
    fileprivate func has(_ kind: SignedPayloadKind) -> Bool? {
        // A comparison of an optional fact with `nil` would copy the fact.
        switch kind {
        case .transaction: if case .some = transaction { true } else { false }
        case .renewalInfo: if case .some = renewal { true } else { false }
        case .appTransaction: if case .some = appTransaction { true } else { false }
        case .receipt: nil
        }
    }
}
