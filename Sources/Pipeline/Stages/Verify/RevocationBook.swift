package import AppStore
package import OpenSSL
import Topology

/// The answers of responders about each certificate in use, and when to ask again; pure, the time
/// is an argument.
package struct RevocationBook: Sendable {
    /// A certificate and its issuer.
    package struct Subject: Sendable {
        package let certificate: Certificate
        package let issuer: Certificate

        /// The certificate's own addresses, or the root's if it names none.
        ///
        /// Empty if no responder can ever answer.
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
        /// A revocation ended, as a hold can.
        case reinstated
        /// Another fault than the last time.
        case fault(OCSPError)
    }

    private struct Entry: Sendable {
        let subject: Subject
        /// First second of the revocation, since 1970.
        ///
        /// `nil` if not revoked.
        var revokedSince: Int64?
        /// Time at which the responder made the newest answer that counts, in seconds since 1970.
        var answeredAt = Int64.min
        /// Time until which a good answer counts, in seconds since 1970.
        var goodUntil = Int64.min
        var nextQuestion = Timestamp(milliseconds: .min)
        var isBeingAsked = false
        var hasBeenAsked = false
        var fault: OCSPError?
    }

    /// Further certificates are not added and stay unknown; Apple has a handful.
    package static let certificatesMax = 1_000

    private let interval: Int64
    private let repetition: Int64
    private var entries: [SHA256Digest: Entry] = [:]

    /// - Parameter interval: between two questions about one certificate; at most ten seconds after
    ///   a failed one.
    package init(interval: Duration) {
        self.interval = Int64(interval / .milliseconds(1))
        repetition = min(self.interval, 10_000)
    }

    /// Continues with the entries of another book; its open questions are asked again.
    package mutating func resume(_ other: RevocationBook) {
        entries = other.entries.mapValues { entry in
            var entry = entry
            entry.isBeingAsked = false
            entry.nextQuestion = Timestamp(milliseconds: .min)
            return entry
        }
    }

    /// Adds a certificate, unless it is known.
    package mutating func add(_ subject: Subject) {
        let fingerprint = subject.certificate.fingerprint
        guard entries[fingerprint] == nil, entries.count < Self.certificatesMax else { return }
        entries[fingerprint] = Entry(subject: subject)
    }

    /// The subjects to ask about now; each is returned once until `note(_:about:at:)`.
    package mutating func due(at now: Timestamp) -> [Subject] {
        // A time that lies further ahead was set by a clock that has been corrected since.
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

    /// The statuses at a time.
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
