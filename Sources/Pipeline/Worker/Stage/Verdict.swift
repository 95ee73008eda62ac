package import AppStore
package import Kafka
package import Records

/// The decision of a stage about one record: its disposition and outputs.
package struct Verdict: Sendable {
    package var disposition: Disposition
    /// Records to write before the offset is committed; each contains its topic.
    package var outputs: [ProducerRecord]
    /// The stage's answer to the request that waits for the record, if it contains more than the refusal; the loop
    /// sends the answer.
    package var outcome: Outcome?
    /// Time at which the record's body was written to the first topic, for the metrics.
    ///
    /// `nil` if the record itself is the body, or does not contain the time.
    package var bodyWrittenAt: Timestamp?
    /// The record's evidence about the settings, for a stage with a breaker.
    package var evidence: Breaker.Evidence?
    /// The refusal, set if and only if the disposition is `deadLettered`; the loop makes the dead letter.
    package let refusal: Refusal?
    /// The reason why the record must wait although the infrastructure answers.
    ///
    /// `nil` for all records that need not wait. A waiting record blocks its partition and is processed again after a
    /// delay.
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
        // The disposition is never counted, because the loop withholds the record.
        disposition = .skipped
        outputs = []
        refusal = nil
        heldBy = error
    }

    /// The verdict on a record that must wait and blocks its partition; all other partitions continue.
    ///
    /// - Parameter error: the action that an operator must take; its description contains no secret.
    package static func held(by error: any Error) -> Verdict { Verdict(heldBy: error) }

    package static func deadLettered(_ refusal: Refusal, evidence: Breaker.Evidence? = nil) -> Verdict {
        Verdict(refusal, evidence)
    }

    /// Returns the number of outputs to a topic.
    func outputCount(to topic: String?) -> Int {
        var count = 0
        for index in outputs.indices where outputs[index].topic == topic { count += 1 }
        return count
    }

    /// Whether the record becomes a dead letter.
    package var isRefused: Bool { disposition == .deadLettered }

    /// Whether an output is larger than its topic accepts.
    package var isTooLarge: Bool { refusal?.reason == .payloadTooLarge }

    /// Whether the stage's database will never accept the record, as far as this program can determine.
    package var isNotStorable: Bool { isRefused && refusal?.reason == .notStorable }
}

extension Verdict {
    /// Returns the verdict on a record that is not a readable observation; a record from a later version waits until
    /// this worker is updated.
    package static func unreadable(_ error: ObservationError) -> Verdict {
        if let version = error.newerVersion { return .held(by: NewerObservation(version: version)) }
        return .deadLettered(Refusal(reason: .observationMalformed, detail: error.detail))
    }

    /// Returns the verdict on an observation that is at fault.
    ///
    /// - Parameter detail: constant text, without anything from the record.
    package static func deadLettered(_ record: ConsumerRecord, _ reason: RefusalReason, detail: String) -> Verdict {
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
    /// `nil` if the observation has no body.
    package var bodyWrittenAt: Timestamp? { source?.timestamp }
}

extension Outcome {
    /// Makes the result of a refused record, whatever the stage.
    ///
    /// `nil` for all other records.
    init?(endOf verdict: Verdict) {
        guard let refusal = verdict.refusal else { return nil }
        self.init(.deadLettered, reason: refusal.reason.rawValue)
    }
}
