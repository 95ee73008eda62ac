/// The bounds within which a server works for a client it does not trust.
package struct HTTPLimits: Sendable {
    /// Request line and header fields together; more is answered with 431.
    package var headerBytesMax = 16 * 1024

    /// A larger body is answered with 413.
    package var bodyBytesMax = 64 * 1024

    /// Connections at once; one more takes the place of the one that is slow for longest.
    package var connectionsMax = 64

    /// The same of one address: IPv4, or an IPv6 network of 64 bits.
    package var connectionsPerAddressMax = 16

    /// From accepting a connection to the end of its request's header fields.
    package var headDurationMax: Duration = .seconds(3)

    /// From accepting a connection to its end, whatever the client sends in between.
    ///
    /// Each connection carries one request, so a client that drips a byte a second is cut off here.
    package var requestDurationMax: Duration = .seconds(10)

    /// Silence after which a connection is closed; whole seconds, at least one.
    package var idleDurationMax: Duration = .seconds(5)

    package init() {}

    package static let standard = HTTPLimits()

    /// Those that are shut down are still the library's for a moment.
    var libraryConnectionsMax: UInt32 { UInt32(clamping: connectionsMax * 2) }

    var idleSeconds: UInt32 {
        UInt32(clamping: max(1, idleDurationMax.components.seconds))
    }
}
