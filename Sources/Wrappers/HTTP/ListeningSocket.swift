import CMicroHTTPD
import Glibc

/// A bound, listening TCP socket; closed at the end unless its descriptor was taken.
struct ListeningSocket: ~Copyable {
    private let descriptor: Int32

    /// The socket's port, even if port 0 was requested.
    let port: UInt16

    init(address: String, port: UInt16) throws(HTTPServerError) {
        let (descriptor, failure) = Self.open(address: address, port: port)
        guard descriptor >= 0 else { throw Self.error(failure, address: address, port: port) }
        self.descriptor = descriptor
        self.port = Self.boundPort(descriptor)
    }

    /// Transfers the descriptor to the caller, who closes it.
    consuming func take() -> Int32 {
        let taken = descriptor
        discard self
        return taken
    }

    deinit { close(descriptor) }

    /// Returns a listening descriptor, or -1 and the `errno` of the failure.
    private static func open(address: String, port: UInt16) -> (Int32, Int32) {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address, String(port), &hints, &found) == 0, let info = unsafe found else {
            return (-1, EADDRNOTAVAIL)
        }
        defer { unsafe freeaddrinfo(found) }

        let type = unsafe info.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = unsafe socket(info.pointee.ai_family, type, info.pointee.ai_protocol)
        guard descriptor >= 0 else { return (-1, errno) }
        var on: Int32 = 1
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let isBound = unsafe bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0
        guard isBound, listen(descriptor, SOMAXCONN) == 0 else {
            let failure = errno
            close(descriptor)
            return (-1, failure)
        }
        return (descriptor, 0)
    }

    private static func boundPort(_ descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port = unsafe withUnsafeMutableBytes(of: &storage) { bytes -> UInt16 in
            guard let base = bytes.baseAddress else { return 0 }
            let pointer = unsafe base.assumingMemoryBound(to: sockaddr.self)
            guard unsafe getsockname(descriptor, pointer, &size) == 0 else { return 0 }
            // The IPv4 and the IPv6 address have the port at the same offset.
            return unsafe bytes.load(fromByteOffset: 2, as: UInt16.self).bigEndian
        }
        return port
    }

    private static func error(_ failure: Int32, address: String, port: UInt16) -> HTTPServerError {
        let place = "\(address) port \(port)"
        switch failure {
        case EADDRINUSE:
            return HTTPServerError(
                code: .portInUse, description: "\(place) is in use: choose another port, or 0 for any free one")
        case EACCES, EPERM:
            return HTTPServerError(
                code: .portForbidden,
                description: "\(place) needs rights this process does not have: choose a port above 1023")
        case EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL:
            return HTTPServerError(
                code: .addressUnusable, description: "\(address) is not an IPv4 or IPv6 address of this machine")
        default:
            return HTTPServerError(code: .systemLimit, description: "no socket for \(place): system error \(failure)")
        }
    }
}
