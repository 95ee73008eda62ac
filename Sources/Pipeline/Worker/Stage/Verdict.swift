package import AppStore
package import Kafka
package import Records

/// The decision of a stage about one record: its disposition and outputs.
package struct Verdict: Sendable {
    package var disposition: Disposition
    /// Written before the offset is committed; each carries its topic.
    package var outputs: [ProducerRecord]
    /// The answer to the request that waits for the record, where the stage knows more of it than
    /// that it was refused; the loop sends it.
    package var outcome: Outcome?
    /// Time at which the record's body was written to the first topic, for the metrics.
    ///
    /// `nil` if the record itself is the body, or does not state the time.
    package var bodyWrittenAt: Timestamp?
    /// The record's evidence about the settings, for a stage with a breaker.
    package var evidence: Breaker.Evidence?
    /// Set exactly when the disposition is `deadLettered`; the loop makes the letter.
    package let refusal: Refusal?
    /// The reason for which the record has to wait although the infrastructure answers.
    ///
    /// `nil` for all records that end here. A waiting record is processed again after a while, and
    /// its partition waits with it until then.
    package let heldBy: (any Error)?

    package init(
        _ disposition: Disposition, outputs: [ProducerRecord] = [], outcome: Outcome? = nil,
        evidence: Breaker.Evidence? = nil
    ) {
        precondition(disposition != .deadLettered, "a dead letter needs a refusal")
        self.disposition = disposition
        self.outputs = outputs
        self.outcome = outcome
        self.evidence = evidence
        refusal = nil
        heldBy = nil
    }

    private init(_ refusal: Refusal, _ evidence: Breaker.Evidence?) {
        disposition = .deadLettered
        outputs = []
        self.refusal = refusal
        self.evidence = evidence
        heldBy = nil
    }

    private init(heldBy error: any Error) {
        // The disposition is never counted: the loop withholds the record.
        disposition = .skipped
        outputs = []
        refusal = nil
        heldBy = error
    }

    /// The record has to wait, and its partition with it, while all others continue.
    ///
    /// - Parameter error: what an operator has to do; its description holds nothing secret.
    package static func held(by error: any Error) -> Verdict { Verdict(heldBy: error) }

    package static func deadLettered(_ refusal: Refusal, evidence: Breaker.Evidence? = nil) -> Verdict {
        Verdict(refusal, evidence)
    }

    /// Counts the outputs to a topic.
    func outputCount(to topic: String?) -> Int {
        var count = 0
        for index in outputs.indices where outputs[index].topic == topic { count += 1 }
        return count
    }

    /// Whether the record ends as a dead letter.
    package var isRefused: Bool { disposition == .deadLettered }

    /// An output is larger than its topic accepts.
    package var isTooLarge: Bool { refusal?.reason == .payloadTooLarge }

    /// The stage's database will never accept the record, as far as this program knows it.
    package var isNotStorable: Bool { isRefused && refusal?.reason == .notStorable }
}

extension Verdict {
    /// The record's value is no observation that this program reads: one that a later version wrote
    /// waits until this worker is updated.
    package static func unreadable(_ error: ObservationError) -> Verdict {
        if let version = error.newerVersion { return .held(by: NewerObservation(version: version)) }
        return .deadLettered(Refusal(reason: .observationMalformed, detail: error.detail))
    }

    /// The record is an observation that is at fault.
    ///
    /// - Parameter detail: our own words, without anything of the record.
    package static func deadLettered(_ record: ConsumerRecord, _ reason: RefusalReason, _ detail: String) -> Verdict {
        let observation = try? Observation(record)
        var verdict = Verdict.deadLettered(
            Refusal(
                reason: reason, detail: detail,
                unverified: observation.map { UnverifiedIdentifiers($0) } ?? UnverifiedIdentifiers()))
        verdict.bodyWrittenAt = observation?.bodyWrittenAt
        return verdict
    }
}

extension Observation {
    /// Time at which the observation's body was written to the first topic.
    ///
    /// `nil` if it has no body.
    package var bodyWrittenAt: Timestamp? { source?.timestamp }
}

extension Outcome {
    /// Makes the end of a refused record, whatever the stage.
    ///
    /// `nil` for all other records.
    init?(endOf verdict: Verdict) {
        guard let refusal = verdict.refusal else { return nil }
        self.init(.deadLettered, reason: refusal.reason.rawValue)
    }
}
