import CMicroHTTPD
import Synchronization

/// A small HTTP/1.1 server on libmicrohttpd, for health checks, metrics and the audit console.
///
/// A single thread reads and writes; each connection carries one request. The server listens from the end of `init`
/// until `stop()`, which `deinit` calls as well.
@safe package final class HTTPServer: Sendable {
    /// A handler of any request, which runs in its own task.
    package typealias Answer = @Sendable (HTTPRequest) async -> HTTPResponse

    /// The actual port, even if port 0 was requested.
    package let port: UInt16

    private let service: HTTPService
    private let daemon: Mutex<Daemon?>

    /// libmicrohttpd's daemon and the reference that its callbacks hold; both end in `stop`.
    @safe private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
        let context: Unmanaged<HTTPService>
    }

    /// Starts listening, and answers some paths on the server's thread.
    ///
    /// - Parameters:
    ///   - address: an IPv4 or IPv6 address of this machine; loopback by default.
    ///   - port: the port; 0 for any free port.
    package convenience init(
        address: String = "127.0.0.1", port: UInt16 = 0, routes: [HTTPRoute], limits: HTTPLimits = .standard
    ) throws(HTTPServerError) {
        let router = HTTPRouter(routes)
        try self.init(address: address, port: port, service: HTTPService(limits, router.match), limits: limits)
    }

    /// Starts listening, and answers each request in a task, whatever its path.
    ///
    /// A connection with a running task uses no time of the server's thread. Beyond `limits.answersMax` tasks a
    /// request is answered with 503.
    ///
    /// - Parameters:
    ///   - address: an IPv4 or IPv6 address of this machine.
    ///   - port: the port; 0 for any free port.
    ///   - identity: the certificates and key for HTTPS; with it the server accepts only HTTPS.
    package convenience init(
        address: String, port: UInt16, limits: HTTPLimits, identity: HTTPIdentity? = nil, answer: @escaping Answer
    ) throws(HTTPServerError) {
        let service = HTTPService(limits) { method, _ in
            guard let known = HTTPMethod(rawValue: method == "HEAD" ? "GET" : method) else {
                return .refused(.text("method not allowed\n", status: 405))
            }
            return .found(known, .deferred(answer))
        }
        try self.init(address: address, port: port, service: service, limits: limits, identity: identity)
    }

    private init(address: String, port: UInt16, service: HTTPService, limits: HTTPLimits, identity: HTTPIdentity? = nil)
        throws(HTTPServerError)
    {
        let socket = try ListeningSocket(address: address, port: port)
        self.port = socket.port
        self.service = service
        let context = unsafe Unmanaged.passRetained(service)
        let pointer = unsafe cmicrohttpd_start(
            socket.take(), limits.libraryConnectionsMax, limits.headerBytesMax, limits.idleSeconds, 1,
            identity?.certificates, identity?.key, requestReceived, requestCompleted, connectionChanged,
            context.toOpaque())
        guard let pointer = unsafe pointer else {
            unsafe context.release()
            daemon = Mutex(nil)
            throw HTTPServerError(
                code: .systemLimit,
                description: "the HTTP server for \(address) port \(port) could not start: "
                    + (identity == nil ? "" : "a certificate or key it cannot use, or ")
                    + "too few descriptors, threads or memory")
        }
        daemon = unsafe Mutex(Daemon(pointer: pointer, context: context))
        service.connections.start()
    }

    /// Stops listening, ends all connections and returns when no handler runs.
    ///
    /// Must not be called from a handler: it would wait for that handler.
    package func stop() {
        let running = daemon.withLock { daemon in
            let running = daemon
            daemon = nil
            return running
        }
        guard let running else { return }
        // libmicrohttpd ends the process if it is stopped while a connection is suspended.
        service.answers.stop()
        unsafe MHD_stop_daemon(running.pointer)
        service.connections.stop()
        unsafe running.context.release()
    }

    deinit { stop() }
}

/// A server's certificates, its own first and then their issuers', and its private key, in PEM.
package struct HTTPIdentity: Sendable {
    let certificates: String
    let key: String

    package init(certificates: String, key: String) {
        self.certificates = certificates
        self.key = key
    }
}

/// The state of libmicrohttpd's callbacks.
///
/// libmicrohttpd holds one reference while the daemon runs.
final class HTTPService: Sendable {
    typealias Match = @Sendable (_ method: String, _ path: String) -> HTTPRouter.Match

    let connections: ConnectionLimits
    let answers: DeferredAnswers
    private let match: Match
    private let bodyBytesMax: Int

    init(_ limits: HTTPLimits, _ match: @escaping Match) {
        self.match = match
        bodyBytesMax = limits.bodyBytesMax
        connections = ConnectionLimits(limits)
        answers = DeferredAnswers(countMax: limits.answersMax)
    }

    enum Beginning {
        case exchange(HTTPExchange)
        case refused(HTTPResponse)
    }

    /// Decides from a request's head how to handle it, before its body is read.
    func begin(_ connection: borrowing HTTPConnection, method: String, path: String) -> Beginning {
        connections.headRead(connection.socket)
        switch match(method, path) {
        case .refused(let response): return .refused(response)
        case .found(let method, let handling):
            let head = HTTPExchange.Head(
                method: method, path: path, queryItems: connection.queryItems, headerItems: connection.headerItems,
                peer: IPAddress(ofPeer: connection.socket))
            let announced = head.headerItems.last { $0.name == "content-length" }
            if let bytes = announced.flatMap({ Int($0.value) }), bytes > bodyBytesMax {
                return .refused(HTTPExchange.tooLarge)
            }
            return .exchange(HTTPExchange(head, bodyBytesMax: bodyBytesMax, handling: handling))
        }
    }

    /// The answer to a complete request.
    ///
    /// `nil` if the connection is suspended until a task answers.
    func respond(_ connection: borrowing HTTPConnection, _ exchange: HTTPExchange) -> HTTPResponse? {
        guard !exchange.isTooLarge else { return HTTPExchange.tooLarge }
        switch exchange.handling {
        case .immediate(let handler): return handler(exchange.request)
        case .deferred(let answer): return exchange.response ?? answers.start(connection, exchange, by: answer)
        }
    }
}

/// The reason why a server could not start.
package struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The text is not an IPv4 or IPv6 address, or this machine does not have the address.
        case addressUnusable
        case portInUse
        case portForbidden
        case systemLimit
    }

    package let code: Code

    /// The text names the address, and what to do.
    package let description: String
}
