import CMicroHTTPD

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
