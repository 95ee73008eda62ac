import AppStore
import Records

extension DeadLetterText {
    /// The tokens and receipts of an original, decoded; empty where there are none.
    static func decoded(_ original: DeadLetterOriginal, isRevealing: Bool) -> String {
        let contents = UnverifiedContents(of: original.value ?? [])
        var text = ""
        for (index, part) in contents.parts.enumerated() {
            guard text.utf8.count < decodedBytesMax else {
                return text + "\n[… \(contents.parts.count - index) more parts left out …]\n"
            }
            text += decoded(part, isRevealing)
        }
        return text + (contents.isWhole ? "" : "\n[… more parts left out …]\n")
    }

    private static let decodedBytesMax = 256 << 10
    private static let valueCharactersMax = 16 << 10

    private static func decoded(_ part: UnverifiedContents.Part, _ isRevealing: Bool) -> String {
        var text = "\nDecoded, unverified: \(part.path)\n"
        if let problem = part.problem {
            text += "not decoded: \(problem)\n"
        }
        for (label, value) in [("header", part.header), ("payload", part.payload)] {
            guard let value else { continue }
            let json = Redaction.pretty(value, isRevealing: isRevealing)
            text += "\(label) \(abbreviated(json, valueCharactersMax))\n"
        }
        return text
    }
}
