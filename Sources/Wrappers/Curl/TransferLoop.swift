internal import CCurl
import Synchronization
import Threads

/// The thread that runs a client's transfers, and libcurl's multi handle, which the thread owns.
///
/// The thread keeps the loop alive; `stop()` ends both.
@safe final class TransferLoop: @unchecked Sendable {
    private struct State {
        var arrivals: [Transfer] = []
        var isStopped = false
        /// Whether the handle may be woken, which holds until the thread frees the handle.
        var isOpen = true
    }

    private let state = Mutex(State())
    private let multi: UnsafeMutableRawPointer

    private init(takingOwnershipOf multi: UnsafeMutableRawPointer) { unsafe self.multi = unsafe multi }

    static func start(connectionsMax: Int) throws(HTTPSError) -> TransferLoop {
        let connections = Int(clamping: max(1, connectionsMax))
        guard CurlLibrary.isReady, let multi = unsafe curl_multi_init() else {
            throw HTTPSError(code: .systemLimit, message: "libcurl cannot be prepared")
        }
        let isSet =
            unsafe ccurl_multi_set(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections) == CURLM_OK
            && ccurl_multi_set(multi, CURLMOPT_MAXCONNECTS, connections) == CURLM_OK
        let loop = unsafe TransferLoop(takingOwnershipOf: multi)
        guard isSet, OwnThread.start(name: "curl", stackBytes: stackBytes, { loop.run() }) else {
            unsafe curl_multi_cleanup(multi)
            throw HTTPSError(code: .systemLimit, message: "the system starts no more threads")
        }
        return loop
    }

    private static let stackBytes = 1 << 20

    func add(_ transfer: Transfer) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.arrivals.append(transfer) }
            return state.isStopped
        }
        if isStopped { transfer.finish(.failure(.cancelled)) } else { wake() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wake()
    }

    /// Wakes the thread, which looks for new and cancelled transfers.
    func wake() { state.withLock { state in if state.isOpen { _ = unsafe curl_multi_wakeup(multi) } } }

    private func run() {
        // Running transfers by the address of their easy handle.
        var running: [UInt: Transfer] = [:]
        while takeArrivals(&running) {
            var count: Int32 = 0
            let status = unsafe curl_multi_perform(multi, &count)
            finishDone(&running)
            for transfer in running.values {
                if status != CURLM_OK {
                    let text = unsafe String(cString: curl_multi_strerror(status))
                    transfer.finish(.failure(HTTPSError(code: .systemLimit, message: text)))
                } else if transfer.isCancelled.load(ordering: .acquiring) {
                    transfer.finish(.failure(.cancelled))
                } else {
                    continue
                }
                remove(transfer, from: &running)
            }
            _ = unsafe curl_multi_poll(multi, nil, 0, Self.idleMilliseconds, nil)
        }
        for transfer in running.values {
            transfer.finish(.failure(.cancelled))
            remove(transfer, from: &running)
        }
        state.withLock { $0.isOpen = false }
        unsafe curl_multi_cleanup(multi)
    }

    /// Maximum wait; a wake-up or libcurl's own time-out ends the wait earlier.
    private static let idleMilliseconds: Int32 = 3_600_000

    /// Begins the new transfers.
    ///
    /// - Returns: false once the loop must stop.
    private func takeArrivals(_ running: inout [UInt: Transfer]) -> Bool {
        let (arrivals, isStopped) = state.withLock { state in
            defer { state.arrivals = [] }
            return (state.arrivals, state.isStopped)
        }
        for transfer in arrivals {
            do throws(HTTPSError) {
                let easy = unsafe try transfer.open()
                guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else {
                    throw HTTPSError(code: .systemLimit, message: "libcurl takes no request")
                }
                running[UInt(bitPattern: easy)] = transfer
            } catch { transfer.finish(.failure(error)) }
        }
        return !isStopped
    }

    private func finishDone(_ running: inout [UInt: Transfer]) {
        var count: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &count) {
            let (easy, result) = unsafe (message.pointee.easy_handle, message.pointee.data.result)
            // libcurl has no other kind of message so far.
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            if let transfer = running[UInt(bitPattern: easy)] {
                transfer.finish(transfer.result(result))
                remove(transfer, from: &running)
            }
        }
    }

    private func remove(_ transfer: Transfer, from running: inout [UInt: Transfer]) {
        guard let easy = unsafe transfer.easy else { return }
        _ = unsafe curl_multi_remove_handle(multi, easy)
        running[UInt(bitPattern: easy)] = nil
        transfer.close()
    }
}

extension HTTPSError { static let cancelled = HTTPSError(code: .cancelled, message: "the request was cancelled") }
