import CMicroHTTPD
import Glibc
import Threads

/// The limits of a server's work for clients that it does not trust.
package struct HTTPLimits: Sendable {
    /// Maximum bytes of request line and header fields together; a larger request is answered with 431.
    package var headerBytesMax = 16 * 1024

    /// Maximum bytes of a body; a larger body is answered with 413.
    package var bodyBytesMax = 64 * 1024

    /// Maximum open connections; a further connection replaces the one that has been slow for longest.
    package var connectionsMax = 64

    /// Maximum open connections of one address: IPv4, or an IPv6 network of 64 bits.
    package var connectionsPerAddressMax = 16

    /// Maximum time from accepting a connection to the end of its request's header fields.
    package var headDurationMax: Duration = .seconds(3)

    /// Maximum time from accepting a connection to its end, whatever the client sends.
    ///
    /// Each connection carries one request, so this limit also ends a client that sends a byte a second.
    package var requestDurationMax: Duration = .seconds(10)

    /// Maximum silence before a connection is closed; whole seconds, at least one.
    package var idleDurationMax: Duration = .seconds(5)

    /// Maximum requests that tasks answer at the same time; a further request is answered with 503.
    package var answersMax = 32

    package init() {}

    package static let standard = HTTPLimits()

    /// Twice the limit, because libmicrohttpd still counts a connection for a moment after its shutdown.
    var libraryConnectionsMax: UInt32 { UInt32(clamping: connectionsMax * 2) }

    var idleSeconds: UInt32 { UInt32(clamping: max(1, idleDurationMax.components.seconds)) }
}

/// Protection against clients that are slow on purpose, which would block other clients.
///
/// A connection has a short deadline for the head of its request and a longer one for the whole request. A thread ends
/// connections that exceed their deadline, and sleeps while no connection is open. (libmicrohttpd's own timeout counts
/// only silence, so a client that sends a byte now and then could keep a connection open without end.) A new
/// connection is never refused: above the limit of its address, or of all addresses, it replaces the connection that
/// has been slow for longest. A health probe that sends its head at once is therefore always answered, even from the
/// same address, for example behind a proxy.
///
/// This class shuts connections down and never closes them: libmicrohttpd then detects the end, and announces it
/// before closing the descriptor, so no descriptor is reused while it is in this table.
final class ConnectionLimits: @unchecked Sendable {
    private struct Connection {
        let network: PeerNetwork
        /// The connection's position in the order of acceptance.
        let number: Int
        let began: ContinuousClock.Instant
        var end: ContinuousClock.Instant
        var hasHead = false
    }

    private let limits: HTTPLimits
    private let condition = Condition()
    /// Connections by descriptor, except those that are shut down.
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

    /// Handles the arrival of a request's head: the deadline of the whole request then applies.
    func headRead(_ descriptor: Int32) {
        condition.withLock {
            guard let connection = connections[descriptor], !connection.hasHead else { return }
            connections[descriptor]?.hasHead = true
            connections[descriptor]?.end = connection.began + limits.requestDurationMax
            condition.signal()
        }
    }

    func ended(_ descriptor: Int32) { condition.withLock { connections[descriptor] = nil } }

    /// Ends the oldest connection without a complete head, or the oldest connection if all have one.
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
