import CMicroHTTPD

/// A connection of the library's, which owns it; valid for the length of one callback.
@safe
struct HTTPConnection: ~Copyable {
    private let pointer: OpaquePointer

    init(borrowing pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    var socket: Int32 {
        unsafe cmicrohttpd_socket(pointer)
    }

    var headers: [String: String] {
        values(of: .HEADER_KIND, lowercasingNames: true)
    }

    var query: [String: String] {
        values(of: .GET_ARGUMENT_KIND, lowercasingNames: false)
    }

    /// Hands a response to the library; false when it could not take it.
    func queue(_ response: HTTPResponse) -> Bool {
        let made = unsafe response.body.withUnsafeBytes { bytes in
            // The library copies the bytes: they are not ours beyond this call.
            unsafe MHD_create_response_from_buffer(
                bytes.count,
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY
            )
        }
        guard let made = unsafe made else { return false }
        defer { unsafe MHD_destroy_response(made) }
        var headers = response.headers
        headers["Content-Type"] = response.contentType
        headers["Cache-Control"] = headers["Cache-Control"] ?? "no-store"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Connection"] = "close"
        for (name, value) in headers {
            _ = unsafe MHD_add_response_header(made, name, value)
        }
        return unsafe MHD_queue_response(pointer, UInt32(response.status), made) == .YES
    }

    private func values(
        of kind: MHD_ValueKind,
        lowercasingNames: Bool
    ) -> [String: String] {
        var pairs: [String: String] = [:]
        unsafe withUnsafeMutablePointer(to: &pairs) { target in
            _ = unsafe MHD_get_connection_values(pointer, kind, collectValue, target)
        }
        guard lowercasingNames else { return pairs }
        return Dictionary(
            pairs.map { ($0.key.lowercased(), $0.value) },
            uniquingKeysWith: { _, last in last }
        )
    }
}

/// Called by the library for each value, with the dictionary to put it into.
private func collectValue(
    _ target: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ name: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let target = unsafe target, let name = unsafe name else { return .NO }
    let pairs = unsafe target.assumingMemoryBound(to: [String: String].self)
    let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
    unsafe pairs.pointee[String(cString: name)] = text
    return .YES
}

/// One request while it is read.
///
/// Used by the server's thread alone, from the library's first callback for the request to the
/// last.
final class HTTPExchange {
    private let method: HTTPMethod
    private let path: String
    private let query: [String: String]
    private let headers: [String: String]
    private let handler: HTTPRoute.Handler
    private let bodyBytesMax: Int
    private var body: [UInt8] = []
    private var isTooLarge = false

    init(
        method: HTTPMethod,
        path: String,
        query: [String: String],
        headers: [String: String],
        bodyBytesMax: Int,
        handler: @escaping HTTPRoute.Handler
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.bodyBytesMax = bodyBytesMax
        self.handler = handler
    }

    static let tooLarge = HTTPResponse.text("request body too large\n", status: 413)

    /// Keeps a piece of the body; once it is too large, what comes is read and dropped.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isTooLarge, body.count + bytes.count <= bodyBytesMax else {
            isTooLarge = true
            body = []
            return
        }
        unsafe body.append(contentsOf: bytes)
    }

    func respond() -> HTTPResponse {
        guard !isTooLarge else { return Self.tooLarge }
        return handler(
            HTTPRequest(method: method, path: path, query: query, headers: headers, body: body)
        )
    }
}

/// Called first with the head of a request, then with each piece of its body, then at its end.
///
/// The exchange is kept alive by the request's own slot, `state`, from the first call until
/// `requestCompleted`.
func requestReceived(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ path: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context = unsafe context, let connection = unsafe connection,
        let path = unsafe path, let method = unsafe method,
        let uploadSize = unsafe uploadSize, let state = unsafe state
    else { return .NO }
    let service = unsafe Unmanaged<HTTPService>.fromOpaque(context).takeUnretainedValue()
    let borrowed = unsafe HTTPConnection(borrowing: connection)

    guard let kept = unsafe state.pointee else {
        let (methodText, pathText) = unsafe (String(cString: method), String(cString: path))
        switch service.begin(borrowed, method: methodText, path: pathText) {
        case .refused(let response):
            return borrowed.queue(response) ? .YES : .NO
        case .exchange(let exchange):
            unsafe state.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
            return .YES
        }
    }
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(kept).takeUnretainedValue()
    let count = unsafe uploadSize.pointee
    guard count > 0 else {
        return borrowed.queue(exchange.respond()) ? .YES : .NO
    }
    unsafe exchange.append(UnsafeRawBufferPointer(start: upload, count: count))
    unsafe uploadSize.pointee = 0
    return .YES
}

/// Called once for each request, however it ended: gives the exchange back.
func requestCompleted(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let state = unsafe state, let kept = unsafe state.pointee else { return }
    unsafe Unmanaged<HTTPExchange>.fromOpaque(kept).release()
    unsafe state.pointee = nil
}

/// Called when a connection was accepted, and before its socket is closed.
func connectionChanged(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ event: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let service = unsafe Unmanaged<HTTPService>.fromOpaque(context).takeUnretainedValue()
    let socket = unsafe HTTPConnection(borrowing: connection).socket
    guard socket >= 0 else { return }
    if event == .CONNECTION_NOTIFY_STARTED {
        service.connections.began(socket)
    } else {
        service.connections.ended(socket)
    }
}
