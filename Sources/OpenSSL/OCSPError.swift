/// Why a responder's word about a certificate is none.
package struct OCSPError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable {
        /// The question could not be written.
        case notAsked = "not_asked"
        /// No answer came: no connection, not in time, too large, not the right type.
        case unanswered
        /// The answer is no OCSP response.
        case malformed
        /// The responder answers that it does not answer.
        case refused
        /// Signed by nobody who may speak for the certificate's issuer, or over a weak digest.
        case untrusted
        /// It speaks of other certificates.
        case aboutAnother = "about_another"
        /// From the future, or out of date.
        case outOfWindow = "out_of_window"
    }

    package let code: Code
    /// In our own words or OpenSSL's constant ones; nothing of the answer is in it.
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    package var description: String { "\(code.rawValue): \(detail)" }
}
