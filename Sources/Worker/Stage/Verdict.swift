import AppStore
package import DeadLetters
package import Kafka

/// What a stage has decided about one record: how it ends, and what is to be written for it.
package struct Verdict: Sendable {
    package var disposition: Disposition
    /// Written before the offset is committed; each carries its topic.
    package var outputs: [ProducerRecord]
    /// What is told to those who wait for the record, where the stage knows more of it than that it
    /// was refused or ignored; the loop tells them.
    package var outcome: Outcome?
    /// Set exactly when the disposition is `deadLettered`; the loop makes the letter.
    package let deadLetter: DeadLetterFacts?

    package init(_ disposition: Disposition, outputs: [ProducerRecord] = []) {
        precondition(disposition != .deadLettered, "a dead letter needs its facts")
        self.disposition = disposition
        self.outputs = outputs
        deadLetter = nil
    }

    private init(_ facts: DeadLetterFacts) {
        disposition = .deadLettered
        outputs = []
        deadLetter = facts
    }

    package static func deadLettered(_ facts: DeadLetterFacts) -> Verdict {
        Verdict(facts)
    }

    /// The stage's database will never take the record, as far as this program knows it.
    package var isNotStorable: Bool {
        deadLetter?.reason == .notStorable
    }

    /// The signatures are good and only the settings do not know the app.
    package var isRefusedBySettings: Bool {
        deadLetter?.signedPayload != nil
    }
}
