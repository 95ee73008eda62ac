internal import CCurl
import Synchronization

/// A running request, and libcurl's easy handle for it.
///
/// Only the loop's thread uses the fields, except the first two.
@safe final class Transfer: @unchecked Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPSResponse, HTTPSError>, Never>

    let isCancelled = Atomic(false)
    private let continuation = Mutex<Continuation?>(nil)

    private let request: HTTPSRequest
    private let options: HTTPSOptions
    private(set) var easy: UnsafeMutableRawPointer?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var headers: [HTTPSHeader] = []
    private var headerBytes = 0
    private var body: [UInt8] = []

    init(_ request: HTTPSRequest, _ options: HTTPSOptions) {
        self.request = request
        self.options = options
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        close()
        unsafe errorBuffer.deallocate()
    }

    func begin(_ continuation: Continuation) { self.continuation.withLock { $0 = continuation } }

    /// Resumes the caller; only the first call has an effect.
    func finish(_ result: Result<HTTPSResponse, HTTPSError>) {
        let waiting = continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        waiting?.resume(returning: result)
    }

    /// Frees the easy handle, which no multi handle contains any more.
    func close() {
        if let easy = unsafe easy { unsafe curl_easy_cleanup(easy) }
        unsafe curl_slist_free_all(headerList)
        unsafe (easy, headerList) = (nil, nil)
    }

    /// The complete response, or the error.
    func result(_ code: CURLcode) -> Result<HTTPSResponse, HTTPSError> {
        guard code == CURLE_OK, let easy = unsafe easy else {
            let detail = unsafe String(cString: errorBuffer)
            return .failure(HTTPSError(code, detail: detail))
        }
        let status = unsafe Int(ccurl_response_code(easy))
        return .success(HTTPSResponse(status: status, headers: headers, body: body))
    }

    fileprivate func receive(header line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= options.headerBytesMax else { return false }
        if unsafe line.starts(with: "HTTP/".utf8) {
            // Interim responses come before the final response.
            headers = []
        } else if let header = unsafe HTTPSHeader(line: line) {
            headers.append(header)
        }
        return true
    }

    fileprivate func receive(body piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= options.bodyBytesMax - body.count else { return false }
        unsafe body.append(contentsOf: piece)
        return true
    }
}

extension Transfer {
    /// Makes the easy handle, which this transfer owns.
    @unsafe func open() throws(HTTPSError) -> UnsafeMutableRawPointer {
        // libcurl reports another protocol with the same code as a response that is not HTTP.
        guard request.url.utf8.starts(with: "https://".utf8) else {
            throw HTTPSError(code: .invalidRequest, message: "the URL is not of https")
        }
        guard let easy = unsafe curl_easy_init() else {
            throw HTTPSError(code: .systemLimit, message: "libcurl makes no handle")
        }
        unsafe self.easy = unsafe easy
        var setting = unsafe EasyOptions(easy)
        setting.number(CURLOPT_NOSIGNAL, 1)
        // Cancelling a request must not wait for a name server's answer.
        setting.number(CURLOPT_QUICK_EXIT, 1)
        setting.text(CURLOPT_PROTOCOLS_STR, "https")
        setting.number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        setting.number(CURLOPT_FOLLOWLOCATION, 0)
        setting.number(CURLOPT_PATH_AS_IS, 1)
        setting.text(CURLOPT_URL, request.url)
        setTrust(&setting)
        setBounds(&setting)
        unsafe setting.apply(ccurl_set_error_buffer(easy, errorBuffer))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe setting.apply(ccurl_set_receivers(easy, headerReceived, bodyReceived, context))
        switch request.method {
        case .get: break
        case .post(let bytes), .put(let bytes):
            unsafe setting.apply(ccurl_set_body(easy, bytes, curl_off_t(bytes.count)))
        }
        if case .put = request.method { setting.text(CURLOPT_CUSTOMREQUEST, "PUT") }
        try addHeaders()
        unsafe setting.apply(ccurl_set_headers(easy, headerList))
        guard setting.result == CURLE_OK else { throw HTTPSError(setting.result, detail: "") }
        return unsafe easy
    }

    private func setTrust(_ setting: inout EasyOptions) {
        setting.number(CURLOPT_SSL_VERIFYPEER, 1)
        setting.number(CURLOPT_SSL_VERIFYHOST, 2)
        setting.number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = options.authorityFile {
            setting.text(CURLOPT_CAINFO, file)
            // The system's authorities are not trusted beside those of the file.
            setting.text(CURLOPT_CAPATH, nil)
        }
        // An empty text also turns off the environment's `https_proxy` and `no_proxy`.
        setting.text(CURLOPT_PROXY, options.proxy ?? "")
        setting.text(CURLOPT_NOPROXY, "")
        setting.number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // The request's headers contain the token, which the proxy must not receive.
        setting.number(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    }

    private func setBounds(_ setting: inout EasyOptions) {
        setting.number(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.milliseconds)
        setting.number(CURLOPT_TIMEOUT_MS, options.totalTimeout.milliseconds)
        setting.number(CURLOPT_LOW_SPEED_LIMIT, options.bytesPerSecondMin)
        let seconds = max(1, options.slowTimeout.milliseconds / 1_000)
        setting.number(CURLOPT_LOW_SPEED_TIME, seconds)
    }

    private func addHeaders() throws(HTTPSError) {
        // An empty `Expect:` keeps libcurl from waiting for the server's permission to send a body of a megabyte.
        for line in request.headers.map(\.line) + ["Expect:"] {
            guard let line else { throw HTTPSError(code: .invalidRequest, message: "a header is not printable ASCII") }
            guard let longer = unsafe curl_slist_append(headerList, line) else {
                throw HTTPSError(code: .systemLimit, message: "no memory for the headers")
            }
            unsafe headerList = unsafe longer
        }
    }
}

/// The options of one handle, and the first result with which libcurl refused an option.
@safe private struct EasyOptions {
    private let easy: UnsafeMutableRawPointer
    private(set) var result = CURLE_OK

    init(_ easy: UnsafeMutableRawPointer) { unsafe self.easy = unsafe easy }

    mutating func number(_ option: CURLoption, _ value: Int) { unsafe apply(ccurl_set_number(easy, option, value)) }

    mutating func text(_ option: CURLoption, _ value: String?) { unsafe apply(ccurl_set_text(easy, option, value)) }

    mutating func apply(_ code: CURLcode) { if result == CURLE_OK { result = code } }
}

extension Duration { fileprivate var milliseconds: Int { Int(clamping: max(1, Int64(self / .milliseconds(1)))) } }

private typealias Receiver = @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int

/// libcurl ends the transfer if the returned number is not the number of received bytes.
private let headerReceived: Receiver = { start, size, count, context in
    unsafe received(start, size, count, context) { transfer, bytes in unsafe transfer.receive(header: bytes) }
}

private let bodyReceived: Receiver = { start, size, count, context in
    unsafe received(start, size, count, context) { transfer, bytes in unsafe transfer.receive(body: bytes) }
}

private func received(
    _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?,
    _ receive: (Transfer, UnsafeRawBufferPointer) -> Bool
) -> Int {
    let (bytes, isTooLong) = size.multipliedReportingOverflow(by: count)
    guard !isTooLong, let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let isTaken = unsafe receive(transfer, UnsafeRawBufferPointer(start: start, count: bytes))
    return isTaken ? bytes : bytes == 0 ? 1 : 0
}
