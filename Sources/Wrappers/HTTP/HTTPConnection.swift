import CMicroHTTPD

/// A connection that libmicrohttpd owns; valid during one callback.
@safe struct HTTPConnection: ~Copyable {
    private let pointer: OpaquePointer

    init(borrowing pointer: OpaquePointer) { unsafe self.pointer = pointer }

    var socket: Int32 { unsafe cmicrohttpd_socket(pointer) }

    /// The header fields, names in lower case.
    var headerItems: [HTTPItem] { items(of: .HEADER_KIND).map { HTTPItem($0.name.lowercased(), $0.value) } }

    var queryItems: [HTTPItem] { items(of: .GET_ARGUMENT_KIND) }

    /// Suspends the connection until `SuspendedConnection.resume`; allowed only in a callback.
    func suspend() -> SuspendedConnection {
        unsafe MHD_suspend_connection(pointer)
        return unsafe SuspendedConnection(pointer: pointer)
    }

    /// Queues a response; false if libmicrohttpd did not accept it.
    func queue(_ response: HTTPResponse) -> Bool {
        let made = unsafe Self.make(response)
        guard let made = unsafe made else { return false }
        defer { unsafe MHD_destroy_response(made) }
        var headers = response.headers
        headers["Content-Type"] = response.contentType
        headers["Cache-Control"] = headers["Cache-Control"] ?? "no-store"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Connection"] = "close"
        for (name, value) in headers { _ = unsafe MHD_add_response_header(made, name, value) }
        return unsafe MHD_queue_response(pointer, UInt32(response.status), made) == .YES
    }

    private static func make(_ response: HTTPResponse) -> OpaquePointer? {
        if let file = response.file { return unsafe MHD_create_response_from_fd(file.bytes, file.descriptor) }
        return unsafe response.body.withUnsafeBytes { bytes in
            // libmicrohttpd copies the bytes, which are valid only during this call.
            unsafe MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
    }

    private func items(of kind: MHD_ValueKind) -> [HTTPItem] {
        var items: [HTTPItem] = []
        unsafe withUnsafeMutablePointer(to: &items) { target in
            _ = unsafe MHD_get_connection_values(pointer, kind, collectValue, target)
        }
        return items
    }
}

/// A suspended connection; libmicrohttpd keeps it until it is resumed, which must happen once.
@safe struct SuspendedConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Makes libmicrohttpd request the answer; callable on any thread.
    func resume() { unsafe MHD_resume_connection(pointer) }
}

/// Appends a value to the list at `target`; libmicrohttpd calls this for each value.
private func collectValue(
    _ target: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let target = unsafe target, let name = unsafe name else { return .NO }
    let items = unsafe target.assumingMemoryBound(to: [HTTPItem].self)
    let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
    unsafe items.pointee.append(HTTPItem(String(cString: name), text))
    return .YES
}

/// Receives first the head of a request, then each piece of its body, then its end.
///
/// The request's own slot, `state`, keeps the exchange alive from the first call until `requestCompleted`.
func requestReceived(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context = unsafe context, let connection = unsafe connection, let path = unsafe path,
        let method = unsafe method, let uploadSize = unsafe uploadSize, let state = unsafe state
    else { return .NO }
    let service = unsafe Unmanaged<HTTPService>.fromOpaque(context).takeUnretainedValue()
    let borrowed = unsafe HTTPConnection(borrowing: connection)

    guard let kept = unsafe state.pointee else {
        let (methodText, pathText) = unsafe (String(cString: method), String(cString: path))
        switch service.begin(borrowed, method: methodText, path: pathText) {
        case .refused(let response): return borrowed.queue(response) ? .YES : .NO
        case .exchange(let exchange):
            unsafe state.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
            return .YES
        }
    }
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(kept).takeUnretainedValue()
    let count = unsafe uploadSize.pointee
    guard count > 0 else {
        guard let response = service.respond(borrowed, exchange) else { return .YES }
        return borrowed.queue(response) ? .YES : .NO
    }
    unsafe exchange.append(UnsafeRawBufferPointer(start: upload, count: count))
    unsafe uploadSize.pointee = 0
    return .YES
}

/// Releases the exchange of a request; called once for each request, also after a failure.
func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    guard let state = unsafe state, let kept = unsafe state.pointee else { return }
    unsafe Unmanaged<HTTPExchange>.fromOpaque(kept).release()
    unsafe state.pointee = nil
}

/// Records a connection's start and end; called after it is accepted, and before its socket is closed.
func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ event: MHD_ConnectionNotificationCode
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
