import Synchronization

/// The way in which a request is answered.
enum HTTPHandling: Sendable {
    /// The server's thread answers from memory.
    case immediate(HTTPRoute.Handler)
    /// A task answers; the connection rests until it ends.
    case deferred(HTTPServer.Answer)
}

/// A request while it is read and answered.
///
/// Used by the server's thread alone, from the library's first callback for the request to the
/// last; only the answer comes from elsewhere.
final class HTTPExchange: Sendable {
    /// The part of a request that arrives before its body.
    struct Head: Sendable {
        let method: HTTPMethod
        let path: String
        let queryItems: [HTTPItem]
        let headerItems: [HTTPItem]
        let peer: IPAddress?
    }

    private struct Body {
        var bytes: [UInt8] = []
        var isTooLarge = false
    }

    let handling: HTTPHandling
    private let head: Head
    private let bodyBytesMax: Int
    private let body = Mutex(Body())
    private let deferredResponse = Mutex<HTTPResponse?>(nil)

    init(_ head: Head, bodyBytesMax: Int, handling: HTTPHandling) {
        self.head = head
        self.bodyBytesMax = bodyBytesMax
        self.handling = handling
    }

    static let tooLarge = HTTPResponse.text("request body too large\n", status: 413)

    /// Keeps a piece of the body; once it is too large, what comes is read and dropped.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let count = bytes.count
        let isTaken = body.withLock { body in
            let fits = !body.isTooLarge && body.bytes.count + count <= bodyBytesMax
            if !fits { body = Body(isTooLarge: true) }
            return fits
        }
        guard isTaken else { return }
        let piece = unsafe Array(bytes)
        body.withLock { $0.bytes += piece }
    }

    var isTooLarge: Bool { body.withLock { $0.isTooLarge } }

    /// The response from the task of a deferred answer; nil until the task ends.
    var response: HTTPResponse? {
        get { deferredResponse.withLock { $0 } }
        set { deferredResponse.withLock { $0 = newValue } }
    }

    var request: HTTPRequest {
        var headers: [String: String] = [:]
        var repeated: Set<String> = []
        for item in head.headerItems {
            if headers.updateValue(item.value, forKey: item.name) != nil { repeated.insert(item.name) }
        }
        return HTTPRequest(
            method: head.method, path: head.path, queryItems: head.queryItems, headers: headers,
            repeatedHeaders: repeated, body: body.withLock { $0.bytes }, peer: head.peer)
    }
}
