/// The classes of refusals, in the header `dlq.class`.
package enum DeadLetterClass: String, Sendable, CaseIterable {
    /// Not signed by whom it says: somebody tries, or a test root is missing in the settings.
    case forged
    /// Not what Apple or the app produced: truncated, re-encoded, of no known form.
    case corrupt
    /// Genuine, but of an app or environment that is not configured.
    case misrouted
    /// Genuine once: the certificate was not valid then, or was revoked.
    case stale
    /// Genuine, but contradicts itself or what is known.
    case conflict
}
