internal import CCurl
import Synchronization

/// A client for HTTPS on libcurl, safe to share between tasks.
///
/// It speaks HTTP/1.1 over TLS 1.2 or later, checks certificate and host name, follows no redirect,
/// and reads neither the environment's proxies nor any file of the user's. One thread of its own
/// carries all requests; they reuse connections. It ends with the client.
package final class HTTPSClient: Sendable {
    private let loop: TransferLoop
    private let options: HTTPSOptions

    /// Starts the thread and connects nowhere yet.
    ///
    /// Throws `.invalidRequest` for a proxy that libcurl would refuse, as its errors quote the URL
    /// with the password.
    package init(_ options: HTTPSOptions = HTTPSOptions()) throws(HTTPSError) {
        self.options = options
        if let proxy = options.proxy, !Self.isProxy(proxy) {
            throw HTTPSError(
                code: .invalidRequest, message: "the proxy is not of the form http://HOST:PORT or https://HOST:PORT")
        }
        loop = try TransferLoop.start(connectionsMax: options.connectionsMax)
    }

    private static func isProxy(_ url: String) -> Bool { ParsedURL(url)?.hasScheme("http", "https") == true }

    /// Sends a request once; returns any response that is whole, whatever its status.
    ///
    /// A request on a reused connection that the server closes before its first byte is sent
    /// again on a new one. Throws `.cancelled` soon after the task is cancelled; the server may
    /// have received the request then.
    package func send(_ request: HTTPSRequest) async throws(HTTPSError) -> HTTPSResponse {
        let transfer = Transfer(request, options)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.begin(continuation)
                loop.add(transfer)
            }
        } onCancel: {
            transfer.isCancelled.store(true, ordering: .releasing)
            loop.wake()
        }
        return try result.get()
    }

    deinit { loop.stop() }
}

/// Trust and bounds of a client's requests.
package struct HTTPSOptions: Sendable {
    /// A PEM file of the only authorities that are trusted; nil for those of the system.
    package var authorityFile: String?
    /// The URL of a proxy of http or https, which may hold a password; nil for none.
    package var proxy: String?
    /// Maximum time for name resolution, connection and TLS together.
    package var connectTimeout = Duration.seconds(15)
    /// Maximum time for the whole request.
    package var totalTimeout = Duration.seconds(120)
    /// Longest time for which a request may stay below `bytesPerSecondMin`, as while the server is
    /// silent.
    package var slowTimeout = Duration.seconds(30)
    package var bytesPerSecondMin = 64
    package var headerBytesMax = 64 << 10
    package var bodyBytesMax = 16 << 20
    /// Maximum connections open at the same time; further requests wait, within their time-out.
    package var connectionsMax = 4

    package init() {}
}

/// The library's state, which belongs to the process.
enum CurlLibrary {
    /// Whether the library is ready; the first use prepares it.
    static let isReady = ccurl_start() == CURLE_OK
}
