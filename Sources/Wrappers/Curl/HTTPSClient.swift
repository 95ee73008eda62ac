internal import CCurl
import Synchronization

/// An HTTPS client on libcurl, safe to share between tasks.
///
/// The client speaks HTTP/1.1 over TLS 1.2 or later, checks certificate and host name, follows no redirect, and reads
/// neither the environment's proxies nor any file of the user. One thread carries all its requests, which reuse
/// connections. The thread ends with the client.
package final class HTTPSClient: Sendable {
    private let loop: TransferLoop
    private let options: HTTPSOptions

    /// Starts the thread, without any connection.
    ///
    /// Throws `.invalidRequest` for a proxy that libcurl would refuse: libcurl's errors quote the URL with the
    /// password.
    package init(_ options: HTTPSOptions = HTTPSOptions()) throws(HTTPSError) {
        self.options = options
        if let proxy = options.proxy, !Self.isProxy(proxy) {
            throw HTTPSError(
                code: .invalidRequest, message: "the proxy is not of the form http://HOST:PORT or https://HOST:PORT")
        }
        loop = try TransferLoop.start(connectionsMax: options.connectionsMax)
    }

    private static func isProxy(_ url: String) -> Bool { ParsedURL(url)?.hasScheme("http", "https") == true }

    /// Sends a request once; returns any complete response, whatever its status.
    ///
    /// If the server closes a reused connection before the first byte of its response, the request is sent again on a
    /// new connection. Throws `.cancelled` soon after the task is cancelled; the server may already have received the
    /// request.
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

/// Trusted authorities and limits of a client's requests.
package struct HTTPSOptions: Sendable {
    /// A PEM file of the only trusted authorities.
    ///
    /// `nil` for the system's authorities.
    package var authorityFile: String?
    /// The URL of a proxy with http or https, which may contain a password.
    ///
    /// `nil` for no proxy.
    package var proxy: String?
    /// Maximum time for name resolution, connection and TLS together.
    package var connectTimeout = Duration.seconds(15)
    /// Maximum time for the whole request.
    package var totalTimeout = Duration.seconds(120)
    /// Maximum time for which a request may stay below `bytesPerSecondMin`, for example while the server is silent.
    package var slowTimeout = Duration.seconds(30)
    package var bytesPerSecondMin = 64
    package var headerBytesMax = 64 << 10
    package var bodyBytesMax = 16 << 20
    /// Maximum number of open connections; further requests wait, within their time-out.
    package var connectionsMax = 4

    package init() {}
}

/// The state of libcurl in this process.
enum CurlLibrary {
    /// Whether the library is ready; the first use prepares it.
    static let isReady = ccurl_start() == CURLE_OK
}
