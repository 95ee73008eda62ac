import Dispatch
import Foundation

/// SIGTERM and SIGINT as calls instead of an end at once.
final class StopSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameter stop: called at each such signal, on a thread of Dispatch's.
    init(_ stop: @escaping @Sendable () -> Void) {
        sources = [SIGTERM, SIGINT].map { number in
            // Dispatch sees a signal only when it does not end the process by default.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: stop)
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
