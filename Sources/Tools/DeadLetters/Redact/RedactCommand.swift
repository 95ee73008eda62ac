import AppStore
import Commands
import JSON
import Kafka
import Records
import Settings
import Store

enum RedactCommand: DeadLetterCommand {
    static let name = "redact"
    static let role = DatabaseRole.replay
    static let summary =
        "Removes the original from a dead letter, and the values read from it. A later letter "
        + "with the same ID and link replaces it, so that 'verify' still shows that nothing is "
        + "missing. The letter cannot be replayed afterwards. Kafka keeps the earlier record "
        + "until the topic's retention removes it, but the tools no longer show it."
    static let operands = "ID"
    static let operandCount = 1...1
    static let options: [CommandOption] = [
        CommandOption("why", short: "w", argument: "TEXT", "Why, for the history. Required."),
        ToolContext.auditorOption,
    ]

    private static let deadline = Duration.seconds(30)

    static func run(_ context: ToolContext) async throws -> Int32 {
        let why = try context.reason()
        let who = try context.auditor()
        let client = try await context.database()
        let id = context.arguments.operands[0].lowercased()
        guard let row = try await DeadLetterTable.get([id], on: client).first,
            let (letter, record) = try await context.topic.read(at: row.position(in: context.topic.name))
        else {
            throw CommandError(
                ExitCode.negative,
                "no dead letter \(id): give the whole ID of a letter that "
                    + "'\(DeadLetterTool.name) index' has read and that the topic still holds")
        }
        guard letter.value != .redacted else {
            context.console.note("\(id) was redacted before")
            return ExitCode.success
        }
        guard let link = ChainLetter(letter, record), link.problem == nil else {
            throw CommandError(
                ExitCode.negative,
                "\(id) does not match its link: see '\(DeadLetterTool.name) verify'; nothing was done")
        }
        // The action is recorded before the redaction is sent, because a removal without a name
        // could not be explained.
        let action = NewDeadLetterAction(who: who, kind: .redacted, why: why, deadLetterID: id)
        try await DeadLetterActionTable.append([action], on: client)
        let redaction = DeadLetterRedaction.record(of: record, by: who.text, why: why, at: context.now)
        try await send(redaction, context)
        let line = "\(letter.id) is redacted; the index follows within seconds"
        context.console.print(["redacted": letter.id], or: line, context.arguments)
        return ExitCode.success
    }

    private static func send(_ record: ProducerRecord, _ context: ToolContext) async throws {
        let producer = try KafkaProducer(
            configuration: DeadLetterSettings.clientProperties(context.values),
            isUncompressed: { Topic.isUncompressed($0) })
        let failure = await producer.send([record]).failures[0].map { producer.fatalError ?? $0 }
        await producer.close(deadline: deadline)
        guard let failure else { return }
        throw CommandError(
            ExitCode.unavailable,
            "recorded and not yet redacted: \(record.topic) did not take the record "
                + "(\(failure)); run the command again")
    }
}
