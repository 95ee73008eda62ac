import Synchronization

/// The way to answer a request.
enum HTTPHandling: Sendable {
    /// The server's thread answers from memory.
    case immediate(HTTPRoute.Handler)
    /// A task answers; the connection is suspended until the task ends.
    case deferred(HTTPServer.Answer)
}

/// A request that is being read and answered.
///
/// Only the server's thread uses an exchange, from libmicrohttpd's first callback for the request to the last; only a
/// deferred answer comes from another thread.
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

    /// Stores a piece of the body; the bytes of a body that is too large are dropped.
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

    /// The response from the task of a deferred answer.
    ///
    /// `nil` until the task ends.
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
