import CMicroHTTPD
import Foundation

/// From where a connection comes, as far as connections are counted together.
///
/// An IPv4 address whole, of an IPv6 address the network (its first 64 bits), which one machine has
/// to itself. Where it cannot be read, all such connections count as of one address.
struct PeerAddress: Hashable {
    private let bytes: [UInt8]

    init(of descriptor: Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        bytes = unsafe withUnsafeMutableBytes(of: &storage) { bytes -> [UInt8] in
            guard let base = bytes.baseAddress else { return [] }
            let pointer = unsafe base.assumingMemoryBound(to: sockaddr.self)
            guard unsafe getpeername(descriptor, pointer, &size) == 0 else { return [] }
            let family = unsafe Int32(pointer.pointee.sa_family)
            return PeerAddress.counted(family: family, unsafe Array(bytes))
        }
    }

    /// - Parameter address: a socket address: family and port, of IPv6 the flow too, then the bytes
    ///   of the address.
    static func counted(family: Int32, _ address: [UInt8]) -> [UInt8] {
        switch family {
        case AF_INET:
            return Array(address[4..<8])
        case AF_INET6:
            let whole = Array(address[8..<24])
            let isMapped = whole.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            return isMapped ? Array(whole[12...]) : Array(whole[..<8])
        default:
            return []
        }
    }
}
