package import AppStore
package import OpenSSL
import Topology

/// The answers of responders about each certificate in use, and the times of the next questions.
///
/// The type is pure: the time is an argument.
package struct RevocationBook: Sendable {
    /// A certificate and its issuer.
    package struct Subject: Sendable {
        package let certificate: Certificate
        package let issuer: Certificate

        /// The OCSP addresses of the certificate, or of the root if the certificate names none.
        ///
        /// Empty if no responder can answer.
        package let responders: [String]

        /// - Parameter root: the root of the chain.
        package init(_ certificate: Certificate, issuedBy issuer: Certificate, below root: Certificate? = nil) {
            self.certificate = certificate
            self.issuer = issuer
            let own = certificate.plainResponders
            responders = own.isEmpty ? root?.plainResponders ?? [] : own
        }
    }

    /// The effect of one answer.
    package enum Change: Hashable, Sendable {
        case none
        case revoked(since: Int64)
        /// A revocation ended, which is possible for a hold.
        case reinstated
        /// The question failed with another fault than the last one.
        case fault(OCSPError)
    }

    private struct Entry: Sendable {
        let subject: Subject
        /// First second of the revocation, since 1970.
        ///
        /// `nil` if the certificate is not revoked.
        var revokedSince: Int64?
        /// Time at which the responder produced the newest accepted answer, in seconds since 1970.
        var answeredAt = Int64.min
        /// Time until which the status good is valid, in seconds since 1970.
        var goodUntil = Int64.min
        var nextQuestion = Timestamp(milliseconds: .min)
        var isBeingAsked = false
        var hasBeenAsked = false
        var fault: OCSPError?
    }

    /// Maximum certificates; further ones are not added and stay unknown.
    ///
    /// Apple uses a handful.
    package static let certificatesMax = 1_000

    private let interval: Int64
    private let repetition: Int64
    private var entries: [SHA256Digest: Entry] = [:]

    /// - Parameter interval: the time between two questions about one certificate; after a failure
    ///   at most ten seconds.
    package init(interval: Duration) {
        self.interval = Int64(interval / .milliseconds(1))
        repetition = min(self.interval, 10_000)
    }

    /// Copies the entries of another book; its open questions are asked again.
    package mutating func resume(_ other: RevocationBook) {
        entries = other.entries.mapValues { entry in
            var entry = entry
            entry.isBeingAsked = false
            entry.nextQuestion = Timestamp(milliseconds: .min)
            return entry
        }
    }

    /// Adds a certificate unless it is known.
    package mutating func add(_ subject: Subject) {
        let fingerprint = subject.certificate.fingerprint
        guard entries[fingerprint] == nil, entries.count < Self.certificatesMax else { return }
        entries[fingerprint] = Entry(subject: subject)
    }

    /// The subjects to ask about now; each is returned once until `record(_:about:at:)`.
    package mutating func due(at now: Timestamp) -> [Subject] {
        // A later time was set by a clock that has been corrected since.
        let latest = Timestamp(milliseconds: now.milliseconds + 2 * interval)
        let due = entries.filter { _, entry in
            !entry.isBeingAsked && (entry.nextQuestion <= now || entry.nextQuestion > latest)
        }
        for fingerprint in due.keys { entries[fingerprint]?.isBeingAsked = true }
        return due.values.map(\.subject)
    }

    /// Records the result of a question.
    package mutating func record(
        _ result: Result<OCSPAnswer, OCSPError>, about fingerprint: SHA256Digest, at now: Timestamp
    ) -> Change {
        guard var entry = entries[fingerprint] else { return .none }
        defer { entries[fingerprint] = entry }
        let former = entry
        entry.isBeingAsked = false
        entry.hasBeenAsked = true
        entry.fault = nil
        entry.nextQuestion = Timestamp(milliseconds: now.milliseconds + interval)
        switch result {
        case .success(let answer):
            let isOlder = answer.thisUpdate < former.answeredAt
            switch answer.status {
            case .good where isOlder && former.revokedSince != nil,
                .revoked where isOlder && former.revokedSince == nil:
                // An outdated responder, or a replayed answer, must not undo a newer one.
                break
            case .good:
                entry.answeredAt = max(former.answeredAt, answer.thisUpdate)
                entry.revokedSince = nil
                entry.goodUntil =
                    answer.nextUpdate.map { $0 + OCSPAnswer.clockSkewMax } ?? now.wholeSeconds + 2 * interval / 1_000
                    + 1
                return former.revokedSince == nil ? .none : .reinstated
            case .revoked(let since):
                entry.answeredAt = max(former.answeredAt, answer.thisUpdate)
                entry.revokedSince = since
                return former.revokedSince == since ? .none : .revoked(since: since)
            case .unknown: entry.fault = OCSPError(.refused, "the responder does not know the certificate")
            }
        case .failure(let fault): entry.fault = fault
        }
        entry.nextQuestion = Timestamp(milliseconds: now.milliseconds + repetition)
        guard let fault = entry.fault, fault != former.fault else { return .none }
        return .fault(fault)
    }

    /// The statuses of all certificates at a time.
    package func statuses(at now: Timestamp) -> [SHA256Digest: RevocationSnapshot.Status] {
        entries.mapValues { entry in
            if let since = entry.revokedSince { return .revoked(since: since) }
            if entry.goodUntil >= now.wholeSeconds { return .good }
            // A status without a responder stays unknown, and records would wait forever.
            guard !entry.subject.responders.isEmpty else { return .unanswerable }
            let isExpired = entry.subject.certificate.validity.upperBound < now.wholeSeconds
            return isExpired && entry.hasBeenAsked ? .unanswerable : .unknown
        }
    }

    /// Returns the fault of the last question about a certificate.
    ///
    /// `nil` if the question did not fail.
    package func fault(of fingerprint: SHA256Digest) -> OCSPError? { entries[fingerprint]?.fault }
}
