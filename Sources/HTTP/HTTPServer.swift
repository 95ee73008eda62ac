import CMicroHTTPD
import Synchronization

/// A small HTTP/1.1 server on libmicrohttpd, for health checks, metrics and the console.
///
/// One thread reads, answers and writes; each connection carries one request. It listens from the
/// end of `init` until `stop()`, which the last reference to it calls as well.
@safe
package final class HTTPServer: Sendable {
    /// The port in use, also where 0 was asked for.
    package let port: UInt16

    private let service: HTTPService
    private let daemon: Mutex<Daemon?>

    /// The library's daemon and the reference that its callbacks hold; both end in `stop`.
    @safe
    private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
        let context: Unmanaged<HTTPService>
    }

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - address: an IPv4 or IPv6 address of this machine; loopback by default.
    ///   - port: 0 for any free one.
    package init(
        address: String = "127.0.0.1",
        port: UInt16 = 0,
        routes: [HTTPRoute],
        limits: HTTPLimits = .standard
    ) throws(HTTPServerError) {
        let socket = try ListeningSocket(address: address, port: port)
        self.port = socket.port
        service = HTTPService(routes: routes, limits: limits)
        let context = unsafe Unmanaged.passRetained(service)
        let pointer = unsafe cmicrohttpd_start(
            socket.take(),
            limits.libraryConnectionsMax,
            limits.headerBytesMax,
            limits.idleSeconds,
            requestReceived,
            requestCompleted,
            connectionChanged,
            context.toOpaque()
        )
        guard let pointer = unsafe pointer else {
            unsafe context.release()
            daemon = Mutex(nil)
            throw HTTPServerError(
                code: .systemLimit,
                description: "the HTTP server for \(address) port \(port) could not start: "
                    + "too few descriptors, threads or memory"
            )
        }
        daemon = unsafe Mutex(Daemon(pointer: pointer, context: context))
        service.connections.start()
    }

    /// Stops listening, ends all connections and returns when no handler runs any more.
    ///
    /// Must not be called from a handler, which it would wait for.
    package func stop() {
        let running = daemon.withLock { daemon in
            let running = daemon
            daemon = nil
            return running
        }
        guard let running else { return }
        unsafe MHD_stop_daemon(running.pointer)
        service.connections.stop()
        unsafe running.context.release()
    }

    deinit {
        stop()
    }
}

/// What the library's callbacks work with; the library holds one reference while the daemon runs.
final class HTTPService: Sendable {
    let connections: ConnectionLimits
    private let router: HTTPRouter
    private let bodyBytesMax: Int

    init(routes: [HTTPRoute], limits: HTTPLimits) {
        router = HTTPRouter(routes)
        bodyBytesMax = limits.bodyBytesMax
        connections = ConnectionLimits(limits)
    }

    enum Beginning {
        case exchange(HTTPExchange)
        case refused(HTTPResponse)
    }

    /// Decides on a request by its head, before its body is read.
    func begin(_ connection: borrowing HTTPConnection, method: String, path: String) -> Beginning {
        connections.headRead(connection.socket)
        switch router.match(method: method, path: path) {
        case .refused(let response):
            return .refused(response)
        case .route(let method, let handler):
            let headers = connection.headers
            if let announced = headers["content-length"].flatMap(Int.init),
                announced > bodyBytesMax
            {
                return .refused(HTTPExchange.tooLarge)
            }
            return .exchange(
                HTTPExchange(
                    method: method,
                    path: path,
                    query: connection.query,
                    headers: headers,
                    bodyBytesMax: bodyBytesMax,
                    handler: handler
                )
            )
        }
    }
}

/// Why a server could not start.
package struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Not an IPv4 or IPv6 address, or one that this machine does not have.
        case addressUnusable
        case portInUse
        case portForbidden
        case systemLimit
    }

    package let code: Code

    /// Names the address, and what to do.
    package let description: String
}
