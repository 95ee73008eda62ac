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
