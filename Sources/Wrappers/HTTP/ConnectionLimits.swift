import CMicroHTTPD
import Glibc
import Threads

/// The bounds within which a server works for a client it does not trust.
package struct HTTPLimits: Sendable {
    /// Request line and header fields together; more is answered with 431.
    package var headerBytesMax = 16 * 1024

    /// A larger body is answered with 413.
    package var bodyBytesMax = 64 * 1024

    /// Connections at once; one more replaces the one that is slow for longest.
    package var connectionsMax = 64

    /// The same of one address: IPv4, or an IPv6 network of 64 bits.
    package var connectionsPerAddressMax = 16

    /// Maximum time from accepting a connection to the end of its request's header fields.
    package var headDurationMax: Duration = .seconds(3)

    /// Maximum time from accepting a connection to its end, whatever the client sends in between.
    ///
    /// Each connection carries one request, so a client that drips a byte a second is cut off here.
    package var requestDurationMax: Duration = .seconds(10)

    /// Silence after which a connection is closed; whole seconds, at least one.
    package var idleDurationMax: Duration = .seconds(5)

    /// Requests answered by tasks at once; one more is answered with 503.
    package var answersMax = 32

    package init() {}

    package static let standard = HTTPLimits()

    /// Twice the limit, since the library counts a connection for a moment after its shutdown.
    var libraryConnectionsMax: UInt32 { UInt32(clamping: connectionsMax * 2) }

    var idleSeconds: UInt32 { UInt32(clamping: max(1, idleDurationMax.components.seconds)) }
}

/// Keeps clients that are slow on purpose from keeping the others out.
///
/// A connection has a short deadline for the head of its request and a longer one for the whole. A
/// thread ends connections that outlive their deadline; it sleeps while no connection is open. (The
/// library's own timeout counts silence only, so a client that sends a byte now and then could hold
/// a connection without end.) And a new connection is never refused: above the limit of its
/// address, or of all together, it replaces the one that has been slow for longest. A health probe
/// that sends its head at once is answered whatever else is open, from the same address too, as
/// behind a proxy.
///
/// A connection is shut down here, never closed: the library then finds it at its end, and
/// announces that before it closes the descriptor, so no number is reused while it stands in this
/// table.
final class ConnectionLimits: @unchecked Sendable {
    private struct Connection {
        let network: PeerNetwork
        /// The order of beginning.
        let number: Int
        let began: ContinuousClock.Instant
        var end: ContinuousClock.Instant
        var hasHead = false
    }

    private let limits: HTTPLimits
    private let condition = Condition()
    /// Connections by descriptor, without those that are shut down.
    private var connections: [Int32: Connection] = [:]
    private var begunCount = 0
    private var isStopped = false

    init(_ limits: HTTPLimits) { self.limits = limits }

    func start() {
        let isStarted = OwnThread.start(name: "http-deadlines", stackBytes: 256 * 1024) { [self] in run() }
        precondition(isStarted, "the system starts no more threads")
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    func began(_ descriptor: Int32) {
        let network = PeerNetwork(IPAddress(ofPeer: descriptor))
        condition.withLock {
            let ofNetwork = connections.filter { $0.value.network == network }
            if ofNetwork.count >= limits.connectionsPerAddressMax {
                endSlowest(of: ofNetwork)
            } else if connections.count >= limits.connectionsMax {
                endSlowest(of: connections)
            }
            let now = ContinuousClock.now
            begunCount += 1
            connections[descriptor] = Connection(
                network: network, number: begunCount, began: now,
                end: now + min(limits.headDurationMax, limits.requestDurationMax))
            condition.signal()
        }
    }

    /// The head of its request is there: it has until the deadline of the whole.
    func headRead(_ descriptor: Int32) {
        condition.withLock {
            guard let connection = connections[descriptor], !connection.hasHead else { return }
            connections[descriptor]?.hasHead = true
            connections[descriptor]?.end = connection.began + limits.requestDurationMax
            condition.signal()
        }
    }

    func ended(_ descriptor: Int32) { condition.withLock { connections[descriptor] = nil } }

    /// The first of those that have not sent their head, else the first of all.
    private func endSlowest(of candidates: [Int32: Connection]) {
        let slowest = candidates.min {
            ($0.value.hasHead ? 1 : 0, $0.value.number) < ($1.value.hasHead ? 1 : 0, $1.value.number)
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
                let now = ContinuousClock.now
                for (descriptor, connection) in connections where connection.end <= now { end(descriptor) }
                if let next = connections.values.map(\.end).min() {
                    condition.wait(atMost: next - now)
                } else {
                    condition.wait()
                }
            }
        }
    }
}
