import Commands
import Settings
import Testing

@Suite struct CommandSyntaxTests {
    private static let syntax = CommandSyntax(
        "dead-letter list", "Lists dead letters.", operands: "[ID]…", operandCount: 0...2,
        options: [
            CommandOption("limit", short: "l", argument: "N", "At most N."),
            CommandOption("reason", argument: "REASON", isRepeatable: true, "Of this reason."),
            CommandOption("json", short: "j", "As JSON."), CommandOption("verbose", short: "v", "More."),
            CommandOption("since", argument: "TIME", "From then on."),
        ])

    @Test(arguments: [
        ["--limit=5", "a"], ["--limit", "5", "a"], ["-l5", "a"], ["a", "-l", "5"], ["--lim=5", "--", "a"],
    ]) func `an argument is given in each of GNU's ways`(arguments: [String]) throws {
        let parsed = try Self.syntax.parse(arguments)
        #expect(parsed.value("limit") == "5")
        #expect(parsed.operands == ["a"])
    }

    @Test func `flags are grouped, repeatable options gathered, dashes let through`() throws {
        let parsed = try Self.syntax.parse(["-jvl3", "--reason", "a", "--reason=b=c", "-", "--", "--json"])
        #expect(parsed.isSet("json"))
        #expect(parsed.isSet("verbose"))
        #expect(parsed.value("limit") == "3")
        #expect(parsed.values("reason") == ["a", "b=c"])
        #expect(parsed.operands == ["-", "--json"])
    }

    @Test(arguments: [
        (["--limt", "5"], "there is no option --limt, did you mean --limit?"), (["-x"], "there is no option -x"),
        (["--limit"], "--limit needs an argument: N"), (["--limit=1", "--limit=2"], "--limit is given twice"),
        (["--json=1"], "--json takes no argument"), (["a", "b", "c"], #"unexpected operand "c""#), (["--"], ""),
    ]) func `what cannot be understood is said`(arguments: [String], message: String) {
        guard !message.isEmpty else {
            #expect(throws: Never.self) { try Self.syntax.parse(arguments) }
            return
        }
        #expect(throws: UsageError(message)) { try Self.syntax.parse(arguments) }
    }

    @Test func `help is asked for even where operands are missing`() throws {
        let syntax = CommandSyntax("show", "Shows.", operands: "ID", operandCount: 1...1)
        #expect(try syntax.parse(["--help"]).isHelpWanted)
        #expect(throws: UsageError("missing operand: expected ID")) { try syntax.parse([]) }
        #expect(syntax.help.hasPrefix("Usage: show [OPTION]… ID\n\nShows.\n"))
    }

    @Test func `an argument is converted by a setting's kind`() throws {
        let parsed = try Self.syntax.parse(["--limit", "many"])
        #expect(throws: UsageError.self) { try parsed.value("limit", as: .int(1...10)) }
        #expect(try Self.syntax.parse(["-l7"]).value("limit", as: .int(1...10)) == 7)
    }

    @Test(
        arguments: [
            (["-l5", "-j", "a"], "dead-letter list --limit=5 --json a"),
            (["--reason=a b", "--reason", "it's", ""], #"dead-letter list '--reason=a b' '--reason=it'\''s' ''"#),
            (["--", "-x", "-"], "dead-letter list -- -x -"),
            // A mark on a quote is one character with it to Swift, and two to a shell.
            (["'\u{301};x"], "dead-letter list ''\\''\u{301};x'"),
        ] as [([String], String)]) func `a command line is written again, quoted for a shell`(
            arguments: [String], line: String
        ) throws
    {
        let parsed = try Self.syntax.parse(arguments)
        #expect(Self.syntax.line(parsed) == line)
        let changed = parsed.with("limit", nil, operands: ["b"])
        #expect(Self.syntax.line(changed.with("json", nil, operands: ["b"])).hasSuffix(" b"))
        #expect(!Self.syntax.line(changed).contains("--limit"))
    }
}
