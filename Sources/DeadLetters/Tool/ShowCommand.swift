import Records
import Settings

/// `dead-letter show`: one dead letter whole, the original included.
enum ShowCommand: DeadLetterCommand {
    static let name = "show"

    static var syntax: CommandSyntax {
        syntax(
            "Shows one dead letter whole, with the original's headers, key and value, and header "
                + "and payload of each JWS and receipt in it, decoded and unverified. Tokens, "
                + "receipts and account tokens are left out unless --reveal asks for them; "
                + "JSON holds the original whole. It may hold personal data: do not paste it into "
                + "tickets.",
            operands: "ID|TOPIC/PARTITION/OFFSET",
            operandCount: 1...1,
            options: [
                CommandOption(
                    "original",
                    "Print the original's value alone, byte for byte, as 'pipeline publish --whole'"
                        + " takes it; to a file or a pipe."
                ),
                CommandOption("reveal", "Show tokens, receipts and account tokens too."),
                CommandOption(
                    "force",
                    short: "f",
                    "Print the original to a terminal too, which may interpret control sequences."
                ),
            ]
        )
    }

    private static let idDigitsMin = 6
    private static let foundMax = 20

    static func run(_ context: ToolContext) async throws -> Int32 {
        let wanted = context.arguments.operands[0]
        let position = RecordPosition(wanted)
        guard position != nil || wanted.count >= idDigitsMin else {
            throw UsageError(
                "expected an ID, at least \(idDigitsMin) of its digits, or TOPIC/PARTITION/OFFSET "
                    + "of the original or of the dead letter; found \"\(wanted)\""
            )
        }
        var found: [String: (DeadLetter, DeadLetterOriginal)] = [:]
        var isTooMany = false
        _ = try await context.topic.read { letter, record in
            guard matches(letter, wanted: wanted, position: position) else { return }
            if let former = found[letter.id]?.0, former.failedAt > letter.failedAt {
                return
            }
            guard found[letter.id] != nil || found.count < foundMax else {
                isTooMany = true
                return
            }
            found[letter.id] = (letter, DeadLetterOriginal(record))
        }
        return report(found.values.sorted { $0.0.id < $1.0.id }, isTooMany, wanted, context)
    }

    private static func matches(
        _ letter: DeadLetter,
        wanted: String,
        position: RecordPosition?
    ) -> Bool {
        if let position {
            return [letter.source, letter.position, letter.raw].contains(position)
        }
        return letter.id.hasPrefix(wanted.lowercased())
    }

    private static func report(
        _ found: [(DeadLetter, DeadLetterOriginal)],
        _ isTooMany: Bool,
        _ wanted: String,
        _ context: ToolContext
    ) -> Int32 {
        guard let (letter, original) = found.first else {
            context.console.note("no dead letter \(wanted)")
            return ExitCode.negative
        }
        guard found.count == 1 else {
            let ids = found.map { "\n  " + Printable.line("\($0.0.id) \($0.0.source)") }
            let more = isTooMany ? "\n  and more" : ""
            context.console.note("several dead letters match:" + ids.joined() + more)
            return ExitCode.negative
        }
        if context.arguments.isSet("original") {
            return write(original, of: letter, context)
        }
        if context.isJSON {
            context.console.print(json: DeadLetterJSON.object(letter, original))
        } else {
            let isRevealing = context.arguments.isSet("reveal")
            context.console.note(
                isRevealing
                    ? "The original may hold tokens and personal data."
                    : "The original may hold personal data; tokens are left out without --reveal."
            )
            context.console.print(
                text: DeadLetterText.whole(letter, original, isRevealing: isRevealing)
                    + DeadLetterText.decoded(original, isRevealing: isRevealing)
            )
        }
        return ExitCode.success
    }

    /// Writes the value, nothing before it and nothing after.
    private static func write(
        _ original: DeadLetterOriginal,
        of letter: DeadLetter,
        _ context: ToolContext
    ) -> Int32 {
        guard letter.value == .original else {
            context.console.note("the value was left out for its size: it lies in \(letter.source)")
            return ExitCode.negative
        }
        guard let value = original.value else {
            context.console.note("the original's value is null")
            return ExitCode.negative
        }
        let isForced = context.arguments.isSet("force")
        guard context.console.write(bytes: value, isForced: isForced) else {
            context.console.note(
                "not printed: the original may hold terminal control sequences; send it "
                    + "to a file or a pipe, or add --force"
            )
            return ExitCode.negative
        }
        return ExitCode.success
    }
}
