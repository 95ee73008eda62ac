/// Whether one certificate names another as its issuer.
package enum IssuanceCheck: Hashable, Sendable {
    case named
    /// The issuer's subject is another name.
    case nameMismatch
    /// The authority key identifier names another key or serial number.
    case keyIdentifierMismatch
}
