import Commands
import JSON
import Kafka
import Settings
import Store

enum ReplayCommand: DeadLetterCommand {
    static let name = "replay"
    static let role = DatabaseRole.replay
    static let summary =
        "Sends dead letters again, once their cause is fixed. Without --send, shows what would "
        + "be sent and what today's verifier says about it. A replay is recorded before it "
        + "sends, and followed until each outcome is known. Exit codes: 0 if all are "
        + "accepted; 1 if some are refused again or not sent, or the replay stopped; 69 if it "
        + "was interrupted, to be continued by --continue."
    static let operands = "[ID…]"
    static let operandCount = 0...10_000
    static let options: [CommandOption] = ReplayOptions.options + FilterOptions.options + [.wide]

    static func run(_ context: ToolContext) async throws -> Int32 {
        do { return try await perform(context) } catch let error as ReplayError {
            throw CommandError(exitCode(error), error.description)
        }
    }

    static func exitCode(_ error: ReplayError) -> Int32 {
        switch error.code {
        case .notFound, .running, .finished, .empty: ExitCode.negative
        case .tooMany, .invalid: ExitCode.usage
        case .interrupted: ExitCode.unavailable
        }
    }

    private static func perform(_ context: ToolContext) async throws -> Int32 {
        let arguments = context.arguments
        if let number = try ReplayOptions.replay("abandon", arguments) { return try await abandon(number, context) }
        let limits = try ReplayOptions.limits(arguments)
        if let number = try ReplayOptions.replay("continue", arguments) {
            let who = try context.auditor()
            let replays = try context.replays(on: try await context.database())
            return try await send(number, who: who, with: replays, context)
        }
        let selection = try ReplayOptions.selection(context)
        let isSending = arguments.isSet("send")
        guard !isSending || arguments.value("why") != nil else {
            throw UsageError("--send needs --why TEXT, for the history")
        }
        let who = isSending ? try context.auditor() : nil
        let replays = try context.replays(on: try await context.database())
        var line = ProgressLine(console: context.console)
        let plan = try await replays.prepare(selection) { step, done, total in
            switch step {
            case .reading: line.show("reading the chains", done: done, of: total, "record")
            case .verifying: line.show("verifying", done: done, of: total, "dead letter")
            }
        }
        line.clear()
        try show(plan, isSending: isSending, context)
        guard let who else { return plan.isClean && plan.count > 0 ? 0 : ExitCode.negative }
        guard plan.count > 0 else { return ExitCode.negative }
        guard !plan.isHopeless || arguments.isSet("yes") else {
            context.console.note(
                "today's verifier refuses all that would be sent; nothing was sent: correct the "
                    + "settings first (--config), or add --yes")
            return ExitCode.negative
        }
        let (number, taken) = try await replays.begin(plan, who: who, why: arguments.value("why") ?? "", limits: limits)
        if taken > 0 { context.console.note("\(taken) letters are left out, because another replay has taken them") }
        return try await send(number, who: who, with: replays, context)
    }

    private static func show(_ plan: ReplayPlan, isSending: Bool, _ context: ToolContext) throws {
        let limit = try context.arguments.value("show", as: .int(0...100_000)) ?? 20
        if !context.isJSON {
            context.console.print(ReplayText.plan(plan, shown: limit), isWide: context.isWide)
        } else if !isSending {
            context.console.print(json: plan.json(shown: limit))
        }
        if !isSending, plan.count > 0 { context.console.note("nothing is sent yet: add --send --why TEXT") }
    }

    private static func abandon(_ number: Int64, _ context: ToolContext) async throws -> Int32 {
        guard let why = context.arguments.value("why") else {
            throw UsageError("--abandon needs --why TEXT, for the history")
        }
        let replays = try context.replays(on: try await context.database())
        try await replays.abandon(number, who: try context.auditor(), why: why)
        context.console.note("replay \(number) is abandoned; its letters may be replayed")
        return ExitCode.success
    }

    private static func send(_ number: Int64, who: AuditorName, with replays: Replays, _ context: ToolContext)
        async throws -> Int32
    {
        context.console.note("replay \(number) is recorded; Ctrl-C ends it after the records in flight")
        do {
            let last = try await interruptibly(number, who: who, with: replays, context)
            context.console.print(last.json, or: ReplayText.progress(last), context.arguments)
            if last.state != .completed {
                context.console.note("\(last.note)\ncontinue with 'dead-letter replay --continue \(number)'")
            }
            if last.isAllAccepted { return ExitCode.success }
            return last.state == .interrupted ? ExitCode.unavailable : ExitCode.negative
        } catch let error as ReplayError { throw error } catch {
            throw ReplayError(
                .interrupted,
                "replay \(number) was interrupted: \(error)\ncontinue with 'dead-letter replay --continue \(number)'")
        }
    }

    /// Runs the replay so that the first Ctrl-C or SIGTERM ends it after the records in flight.
    private static func interruptibly(_ number: Int64, who: AuditorName, with replays: Replays, _ context: ToolContext)
        async throws -> ReplayProgress
    {
        let stop = ReplayStop()
        let console = context.console
        return try await Interruption.cancelling {
            // A task of its own, which the signal's cancellation does not reach.
            let work = Task {
                var line = ProgressLine(console: console)
                let last = try await replays.run(
                    number, who: who, stop: stop, progress: { line.show(ReplayText.title($0), ReplayText.counts($0)) },
                    limits: { try ReplayOptions.limits(context.arguments, over: $0) })
                line.clear()
                return last
            }
            return try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                stop.request("ended by Ctrl-C or SIGTERM")
            }
        }
    }
}
