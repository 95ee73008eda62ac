/// The bounds within which a server works for a client it does not trust.
package struct HTTPLimits: Sendable {
    /// Request line and header fields together; more is answered with 431.
    package var headerBytesMax = 16 * 1024

    /// A larger body is answered with 413.
    package var bodyBytesMax = 64 * 1024

    /// Connections at once; more wait in the kernel's queue until one ends.
    package var connectionsMax = 64

    /// From accepting a connection to its end, whatever the client sends in between.
    ///
    /// Each connection carries one request, so a client that drips a byte a second is cut off here.
    package var requestDurationMax: Duration = .seconds(10)

    /// Silence after which a connection is closed; whole seconds, at least one.
    package var idleDurationMax: Duration = .seconds(5)

    package init() {}

    package static let standard = HTTPLimits()

    var idleSeconds: UInt32 {
        UInt32(clamping: max(1, idleDurationMax.components.seconds))
    }
}
