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
