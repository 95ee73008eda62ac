package import OpenSSL

/// Is told by whose certificates something genuine was signed.
package protocol ChainObserver: Sendable {
    /// Called from any thread: once for each chain that a verifier comes to remember, and with each
    /// receipt, whose chain none remembers.
    ///
    /// - Parameter chain: leaf, intermediate and the root that vouched for them; or one certificate
    ///   that is configured itself.
    func observed(_ chain: [Certificate])
}
