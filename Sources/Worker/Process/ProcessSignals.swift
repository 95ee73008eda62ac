import Dispatch
import Foundation

/// Signals as calls, instead of an end at once.
final class ProcessSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - stop: called at each SIGTERM and SIGINT, on a thread of Dispatch's.
    ///   - reload: called at each SIGHUP, likewise.
    init(
        stop: @escaping @Sendable () -> Void,
        reload: @escaping @Sendable () -> Void
    ) {
        sources = [(SIGTERM, stop), (SIGINT, stop), (SIGHUP, reload)].map { number, call in
            // Dispatch sees a signal only when it does not end the process by default.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: call)
            source.resume()
            return source
        }
        // A peer that closes its connection is an error of that write, never of the process.
        signal(SIGPIPE, SIG_IGN)
    }

    func cancel() {
        for source in sources {
            source.cancel()
        }
    }
}
