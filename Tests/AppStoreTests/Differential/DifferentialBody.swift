import AppStore
import Simulation

/// A signed body that two verifiers verify.
struct DifferentialBody: Sendable {
    let kind: PayloadKind
    let token: [UInt8]
    /// The mutation of the body.
    let mutation: String

    /// The body as a line of the script's input.
    var line: [UInt8] { Array("\(kind.rawValue) ".utf8) + Base64Text.standard(token) + [UInt8(ascii: "\n")] }

    /// The body from an ingestion service, in the field that names its kind.
    var body: [UInt8] {
        switch kind {
        case .transaction: Body.transaction(token)
        case .renewalInfo: Body.renewalInfo(token)
        case .appTransaction: Body.appTransactionInfo(token)
        case .notification: Body.notification(token)
        }
    }
}
