import DeadLetters
import Kafka
import Records
import Store

/// The dead letters of a demo: their number by reason, and one complete example.
struct DemoLetters: Sendable {
    struct Reason: Hashable, Sendable {
        let name: String
        let deadLetterClass: String
        var count: Int
    }

    private(set) var reasons: [Reason] = []
    /// The example: a forged signature if there is one, otherwise the first dead letter.
    private(set) var example: DeadLetterTopic.Held?
    private static let telling = "signature_invalid"

    /// Reads the whole topic; of several copies of one dead letter the first counts.
    static func read(_ topic: DeadLetterTopic) async throws -> DemoLetters {
        var letters = DemoLetters()
        var fold = DeadLetterFold<String>()
        _ = try await topic.read { letter, record in
            let row = DeadLetterRow(letter, record)
            guard case .counts(let replaced) = fold.add(row, letter.reason) else { return }
            if let replaced { letters.remove(reason: replaced) }
            letters.add(reason: letter.reason, deadLetterClass: letter.deadLetterClass)
            letters.considerAsExample(letter, record)
        }
        return letters
    }

    mutating func add(reason: String, deadLetterClass: String) {
        if let index = reasons.firstIndex(where: { $0.name == reason }) {
            reasons[index].count += 1
        } else {
            reasons.append(Reason(name: reason, deadLetterClass: deadLetterClass, count: 1))
        }
    }

    private mutating func remove(reason: String) {
        guard let index = reasons.firstIndex(where: { $0.name == reason }) else { return }
        reasons[index].count -= 1
        reasons.removeAll { $0.count == 0 }
    }

    private mutating func considerAsExample(_ letter: DeadLetter, _ record: ConsumerRecord) {
        let isBetter = letter.reason == Self.telling && example?.letter.reason != Self.telling
        if example == nil || isBetter { example = (letter, record) }
    }

    /// Number of dead letters by reason.
    var counts: [String: Int] { Dictionary(uniqueKeysWithValues: reasons.map { ($0.name, $0.count) }) }
}
