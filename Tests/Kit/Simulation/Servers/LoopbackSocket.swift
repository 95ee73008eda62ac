package import Foundation

/// A TCP socket on a port of 127.0.0.1 that the kernel has chosen.
package struct LoopbackSocket: Sendable {
    package let descriptor: Int32
    package let port: UInt16

    /// - Parameter isListening: whether connections may come from here on.
    package init(isListening: Bool) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw LocalServerError("no socket on 127.0.0.1", errno: errno) }
        var isReusable: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && (!isListening || listen(descriptor, 8) == 0)
                    ? getsockname(descriptor, generic, &length) : -1
            }
        }
        guard code == 0 else {
            let error = LocalServerError("no free port on 127.0.0.1", errno: errno)
            Foundation.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
    }

    /// Ends the socket, once and after every thread that uses it.
    package func close() {
        shutDown()
        Foundation.close(descriptor)
    }

    /// Refuses connections from now on, and ends a wait for one.
    ///
    /// The next socket cannot get this descriptor, so no thread takes its connections by mistake.
    package func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// A TCP port of 127.0.0.1 that nothing listens on.
package enum LoopbackPort {
    /// Asks the kernel for one.
    ///
    /// Another process may take the port before it is used; a server that lives longer has a
    /// `ReservedPort`.
    package static func free() throws -> UInt16 {
        let socket = try LoopbackSocket(isListening: false)
        socket.close()
        return socket.port
    }
}

/// A port of 127.0.0.1 that the kernel gives to nobody else while this object lives, whether its server
/// runs or not.
///
/// A server that sets `SO_REUSEADDR` may listen on it (socket(7), Linux).
package final class ReservedPort: Sendable {
    private let socket: LoopbackSocket

    package init() throws { socket = try LoopbackSocket(isListening: false) }

    deinit { socket.close() }

    package var number: UInt16 { socket.port }
}

extension sockaddr_in {
    package static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
