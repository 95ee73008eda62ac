import Foundation

/// Keeps clients that are slow on purpose from keeping the others out.
///
/// A connection has a short deadline for the head of its request and a longer one for the whole; a
/// thread that sleeps while there is none ends those that outlive theirs. (The library's own
/// timeout counts silence only, so a client that sends a byte now and then could hold a connection
/// for ever.) And a new connection is never refused: above the limit of its address, or of all
/// together, it takes the place of one that has been slow for longest. A health probe that sends
/// its head at once is answered whatever else is open, from the same address too, as behind a
/// proxy.
///
/// A connection is shut down here, never closed: the library then finds it at its end, and
/// announces that before it closes the descriptor, so no number is reused while it stands in this
/// table.
final class ConnectionLimits: @unchecked Sendable {
    private struct Connection {
        let address: PeerAddress
        /// The order of beginning.
        let number: Int
        let began: Date
        var end: Date
        var hasHead = false
    }

    private let headDurationMax: TimeInterval
    private let requestDurationMax: TimeInterval
    private let connectionsMax: Int
    private let connectionsPerAddressMax: Int
    private let condition = NSCondition()
    /// By descriptor, without those that are shut down.
    private var connections: [Int32: Connection] = [:]
    private var begunCount = 0
    private var isStopped = false

    init(_ limits: HTTPLimits) {
        headDurationMax = limits.headDurationMax / .seconds(1)
        requestDurationMax = limits.requestDurationMax / .seconds(1)
        connectionsMax = limits.connectionsMax
        connectionsPerAddressMax = limits.connectionsPerAddressMax
    }

    func start() {
        let thread = Thread { [self] in run() }
        thread.name = "http-deadlines"
        thread.stackSize = 256 * 1024
        thread.start()
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    func began(_ descriptor: Int32) {
        let address = PeerAddress(of: descriptor)
        condition.withLock {
            let ofAddress = connections.filter { $0.value.address == address }
            if ofAddress.count >= connectionsPerAddressMax {
                endSlowest(of: ofAddress)
            } else if connections.count >= connectionsMax {
                endSlowest(of: connections)
            }
            let now = Date()
            begunCount += 1
            connections[descriptor] = Connection(
                address: address,
                number: begunCount,
                began: now,
                end: now + min(headDurationMax, requestDurationMax)
            )
            condition.signal()
        }
    }

    /// The head of its request is there: it has until the deadline of the whole.
    func headRead(_ descriptor: Int32) {
        condition.withLock {
            guard let connection = connections[descriptor], !connection.hasHead else { return }
            connections[descriptor]?.hasHead = true
            connections[descriptor]?.end = connection.began + requestDurationMax
            condition.signal()
        }
    }

    func ended(_ descriptor: Int32) {
        condition.withLock {
            connections[descriptor] = nil
        }
    }

    /// The first of those that have not sent their head, else the first of all.
    private func endSlowest(of candidates: [Int32: Connection]) {
        let slowest = candidates.min {
            ($0.value.hasHead ? 1 : 0, $0.value.number)
                < ($1.value.hasHead ? 1 : 0, $1.value.number)
        }
        if let slowest { end(slowest.key) }
    }

    private func end(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_RDWR))
        connections[descriptor] = nil
    }

    private func run() {
        condition.withLock {
            while !isStopped {
                let now = Date()
                for (descriptor, connection) in connections where connection.end <= now {
                    end(descriptor)
                }
                if let next = connections.values.map(\.end).min() {
                    _ = condition.wait(until: next)
                } else {
                    condition.wait()
                }
            }
        }
    }
}
