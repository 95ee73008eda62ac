import DeadLetters
import Foundation
import TestSupport
import Testing

/// Shell completion of the tool's commands and options.
@Suite(.timeLimit(.minutes(10))) struct CompletionTests {
    @Test(arguments: [
        ("dead-letter ", ["list", "groups", "completion"]), ("dead-letter gro", ["groups"]),
        ("dead-letter list --rea", ["--reason"]), ("dead-letter list --reason signature_", ["signature_invalid"]),
        ("dead-letter count --by = cert", ["certificate"]), ("dead-letter completion f", ["fish"]),
        ("dead-letter resolve --w", ["--why", "--worker"]),
    ]) func `bash completes the declared words`(line: String, words: [String]) async throws {
        let script = await ToolRun(["completion", "bash"]).result
        let (completed, loaded) = try BashCompletion.words(script, line)
        #expect(loaded == "complete -F _dead_letter dead-letter\n")
        #expect(Set(completed).isSuperset(of: words), "\(completed)")
        #expect(words.count > 1 || completed == words)
    }

    private static let completed = [
        ("dead-letter gro", "groups"), ("dead-letter list --rea", "list --reason"),
        ("dead-letter list --reason signature_", "list --reason signature_invalid"),
        ("dead-letter completion f", "completion fish"),
    ]

    /// An interactive zsh on a terminal of its own, in which a tabulator is typed.
    @Test(.needsShell("zsh")) func `zsh completes typed words`() async throws {
        let script = await ToolRun(["completion", "zsh"]).result
        let session = """
            zmodload zsh/zpty
            zpty -b shell zsh -f -i
            zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; source '"$1"'
            dead-letter() { print -r -- "GIVEN:$*:" }; print READY:'
            # The first is the echo of what was typed.
            zpty -r shell out '*READY:*'
            zpty -r shell out '*READY:*'
            shift
            for line in "$@"; do
                zpty -n -w shell "$line"$'\t\n'
                zpty -r shell out '*GIVEN:*:*'
                print -r -- "${${out##*GIVEN:}%%:*}"
            done
            zpty -d shell
            """
        let lines = try Self.run(Self.path(of: "zsh"), ["-f", "-c", session, "zsh"], script, Self.completed.map(\.0))
        #expect(lines == Self.completed.map(\.1))
    }

    @Test(.needsShell("fish")) func `fish completes typed words`() async throws {
        let script = await ToolRun(["completion", "fish"]).result
        let session = """
            source $argv[1]
            for line in $argv[2..]
                complete -C $line
            end
            """
        let lines = try Self.run(
            Self.path(of: "fish"), ["--no-config", "-c", session], script, Self.completed.map(\.0))
        let words = lines.map { String($0.prefix { $0 != "\t" }) }
        #expect(words == ["groups", "--reason", "signature_invalid", "fish"])
    }

    fileprivate static func path(of shell: String) -> String { "/usr/bin/\(shell)" }

    /// The lines that a shell prints, from the file of completions and the typed text.
    private static func run(_ shell: String, _ arguments: [String], _ script: String, _ typed: [String]) throws
        -> [String]
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "completion-\(UUID())")
        try script.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try ProgramRun(shell, arguments + [file.path(percentEncoded: false)] + typed, takesErrors: false)
        return run.text.split(whereSeparator: \.isNewline).map(String.init)
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func `each shell gets every command and option`(shell: String) async {
        let run = await ToolRun(["completion", shell])
        #expect(run.exitCode == 0)
        for word in ["groups", "tail", "certificate", "follow", "why"] { #expect(run.result.contains(word)) }
        #expect(await ToolRun(["completion", "csh"]).exitCode == 64)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where a shell is not installed, and says so.
    fileprivate static func needsShell(_ name: String) -> Self {
        let path = CompletionTests.path(of: name)
        return .enabled(
            if: FileManager.default.isExecutableFile(atPath: path), "no \(path): deploy/install.sh test installs it")
    }
}
