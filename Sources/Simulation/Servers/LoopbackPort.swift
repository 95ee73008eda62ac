import Foundation

/// A TCP port of 127.0.0.1 that nothing listens on.
package enum LoopbackPort {
    /// Asks the kernel for one.
    ///
    /// Another process may take it before it is used, so whoever starts a server with it tries
    /// again with another.
    package static func free() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else {
            throw LocalServerError("no socket to find a free port with", errno: errno)
        }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0
                    ? getsockname(descriptor, generic, &length) : -1
            }
        }
        guard code == 0 else {
            throw LocalServerError("no free port on 127.0.0.1", errno: errno)
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
