import Foundation

/// Listens and never says anything: the kernel completes the connections of its backlog.
final class SilentServer: Sendable {
    let port: UInt16
    private let descriptor: Int32

    struct Failure: Error {}

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let owned = descriptor
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(owned, generic, length) == 0 && listen(owned, 8) == 0
                    ? getsockname(owned, generic, &length) : -1
            }
        }
        guard code == 0 else { throw Failure() }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
        close(descriptor)
    }
}
