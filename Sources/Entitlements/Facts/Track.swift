package import AppStore

/// What a transaction was read from; each track has a newest revision of its own.
package enum Track: String, Hashable, CaseIterable, Sendable {
    case jws
    case receipt

    package init(_ method: VerificationFacts.Method) {
        switch method {
        case .jws, .jwsXcode: self = .jws
        case .receipt: self = .receipt
        }
    }
}
