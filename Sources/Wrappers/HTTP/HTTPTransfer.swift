import CMicroHTTPD
import Threads

/// A faulty way to send a body, for servers that simulate the faults of others.
package struct HTTPTransfer: Sendable, Equatable {
    /// The `Content-Length`.
    ///
    /// If it exceeds the body's size, the connection ends after the body; if it is smaller, the rest of the body is
    /// not sent.
    let announcedBytes: Int

    /// The wait before each byte, during which the server's only thread serves no other request.
    let bytePause: Duration?

    package init(announcedBytes: Int, bytePause: Duration? = nil) {
        self.announcedBytes = announcedBytes
        self.bytePause = bytePause
    }

    /// Makes libmicrohttpd's response, which the caller destroys.
    ///
    /// `nil` if no memory is left.
    func makeResponse(of body: [UInt8]) -> OpaquePointer? {
        let context = unsafe Unmanaged.passRetained(Sending(body: body, bytePause: bytePause))
        let made = unsafe MHD_create_response_from_callback(
            UInt64(announcedBytes), Self.blockBytes, nextBytes, context.toOpaque(), bodySent)
        if unsafe made == nil { unsafe context.release() }
        return unsafe made
    }

    private static let blockBytes = 16 * 1024

    fileprivate final class Sending: Sendable {
        private let body: [UInt8]
        private let bytePause: Duration?
        private let condition = Condition()

        init(body: [UInt8], bytePause: Duration?) {
            self.body = body
            self.bytePause = bytePause
        }

        /// The bytes from a position on; `nil` at the end.
        func next(from position: Int, atMost count: Int) -> ArraySlice<UInt8>? {
            guard position < body.count else { return nil }
            guard let bytePause else { return body[position...].prefix(count) }
            condition.withLock { condition.wait(atMost: bytePause) }
            return body[position...].prefix(1)
        }
    }
}

/// Copies the next bytes of a body; libmicrohttpd calls this.
private func nextBytes(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int
) -> Int {
    // The value of MHD_CONTENT_READER_END_WITH_ERROR, a cast that Swift does not import.
    let end = -2
    guard let context = unsafe context else { return end }
    let sending = unsafe Unmanaged<HTTPTransfer.Sending>.fromOpaque(context).takeUnretainedValue()
    guard let bytes = sending.next(from: Int(position), atMost: count) else { return end }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: bytes)
    return bytes.count
}

/// Releases the body; libmicrohttpd calls this once, when it no longer needs the body.
private func bodySent(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<HTTPTransfer.Sending>.fromOpaque(context).release()
}
