package import AppStore
package import Kafka
package import Records

extension Verdict {
    /// The record's value is no observation.
    package static func observationMalformed(_ error: ObservationError) -> Verdict {
        .deadLettered(Refusal(reason: .observationMalformed, detail: error.detail))
    }

    /// The record is an observation that is at fault.
    ///
    /// - Parameter detail: our own words, without anything of the record.
    package static func deadLettered(
        _ record: ConsumerRecord,
        _ reason: RefusalReason,
        _ detail: String
    ) -> Verdict {
        let observation = try? Observation(decoding: record.value)
        return .deadLettered(
            Refusal(
                reason: reason,
                detail: detail,
                unverified: observation.map { UnverifiedIdentifiers($0) }
                    ?? UnverifiedIdentifiers()
            )
        )
    }
}
