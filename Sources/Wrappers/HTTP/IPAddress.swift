import CMicroHTTPD
import Glibc

/// An IPv4 or IPv6 address; an IPv4 address mapped into IPv6 becomes the IPv4 address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address's 4 or 16 bytes, in network order.
    let bytes: [UInt8]

    /// Reads `192.0.2.1` or `2001:db8::1`.
    ///
    /// `nil` for anything else.
    package init?(_ text: String) {
        let family = text.contains(":") ? AF_INET6 : AF_INET
        var bytes = [UInt8](repeating: 0, count: family == AF_INET6 ? 16 : 4)
        guard unsafe inet_pton(family, text, &bytes) == 1 else { return nil }
        self.init(bytes)
    }

    /// The other end of a connection.
    ///
    /// `nil` if the system does not report it.
    init?(ofPeer descriptor: Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let raw: (family: Int32, bytes: [UInt8])? = unsafe withUnsafeMutableBytes(of: &storage) {
            guard let base = $0.baseAddress else { return nil }
            let pointer = unsafe base.assumingMemoryBound(to: sockaddr.self)
            guard unsafe getpeername(descriptor, pointer, &size) == 0 else { return nil }
            return (unsafe Int32(pointer.pointee.sa_family), unsafe Array($0))
        }
        switch raw?.family {
        case AF_INET: self.init(Array(raw?.bytes[4..<8] ?? []))
        case AF_INET6: self.init(Array(raw?.bytes[8..<24] ?? []))
        default: return nil
        }
    }

    private init(_ bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        self.bytes = isMapped ? Array(bytes[12...]) : bytes
    }

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    package var description: String {
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// An origin of connections and requests, for which they are counted together.
///
/// The origin is a whole IPv4 address, or the network of an IPv6 address (its first 64 bits), which belongs to one
/// machine. All unknown addresses count as one origin.
package struct PeerNetwork: Hashable, Sendable {
    private let bytes: [UInt8]

    package init(_ address: IPAddress?) {
        bytes = address.map { $0.bytes.count == 16 ? Array($0.bytes[..<8]) : $0.bytes } ?? []
    }
}

/// A set of addresses with the same first bits: `10.0.0.0/8`; a single address without the slash.
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress
    private let bits: Int

    /// Parses an address, or an address with a number of bits.
    ///
    /// `nil` if the text is not an address, or the number of bits exceeds the address's length.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let most = address.bytes.count * 8
        guard parts.count == 2 else {
            self.address = address
            bits = most
            return
        }
        let isNumber = (1...3).contains(parts[1].count) && parts[1].allSatisfy { $0.isNumber }
        guard isNumber, let bits = Int(parts[1]), bits <= most else { return nil }
        self.address = address
        self.bits = bits
    }

    package func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return (address.bytes[bit / 8] ^ other.bytes[bit / 8]) & mask == 0
        }
    }

    package var description: String { bits == address.bytes.count * 8 ? address.description : "\(address)/\(bits)" }
}
