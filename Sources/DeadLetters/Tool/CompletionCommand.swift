import AppStore
import Settings
import Store

/// `dead-letter completion`: a shell's completion, made from the commands' declarations.
enum CompletionCommand: DeadLetterCommand {
    static let name = "completion"

    static var syntax: CommandSyntax {
        syntax(
            "Prints the completion of a shell, to be loaded by it: in bash with "
                + "'source <(dead-letter completion bash)', in zsh with the same, in fish with "
                + "'dead-letter completion fish | source'.",
            operands: "bash|zsh|fish",
            operandCount: 1...1,
            options: []
        )
    }

    static func run(_ context: ToolContext) async throws -> Int32 {
        let completion = ShellCompletion(context.commands)
        switch context.arguments.operands[0] {
        case "bash": context.console.print(text: completion.bash)
        case "zsh":
            // zsh runs bash's completions.
            context.console.print(
                text: "autoload -U +X bashcompinit && bashcompinit\n" + completion.bash
            )
        case "fish": context.console.print(text: completion.fish)
        case let other: throw UsageError("expected bash, zsh or fish, found \"\(other)\"")
        }
        return ExitCode.success
    }
}

/// Completions of the tool, in the shells' own languages.
struct ShellCompletion {
    private let commands: [any DeadLetterCommand.Type]

    init(_ commands: [any DeadLetterCommand.Type]) {
        self.commands = commands
    }

    /// The allowed values of options with a fixed set, whatever the command.
    private static let values: [(option: String, values: [String])] = [
        ("reason", RefusalReason.allCases.map(\.rawValue)),
        ("class", DeadLetterClass.allCases.map(\.rawValue)),
        ("state", DeadLetterState.allCases.map(\.rawValue)),
        ("by", DeadLetterGrouping.allCases.map(\.rawValue)),
    ]

    /// The operands of a command that takes one of a few words.
    private static func operands(_ command: any DeadLetterCommand.Type) -> [String] {
        let words = command.syntax.operands.split(separator: "|").map(String.init)
        return words.allSatisfy { $0.lowercased() == $0 } ? words : []
    }

    private static func words(_ command: any DeadLetterCommand.Type) -> String {
        (command.syntax.options.map { "--\($0.long)" } + operands(command))
            .joined(separator: " ")
    }

    var bash: String {
        let names = commands.map { $0.name }.joined(separator: " ")
        let values = Self.values.map {
            "        --\($0.option)) words='\($0.values.joined(separator: " "))' ;;\n"
        }.joined()
        let options = commands.map { "            \($0.name)) words='\(Self.words($0))' ;;\n" }
            .joined()
        return """
            _dead_letter() {
                local current="${COMP_WORDS[COMP_CWORD]}" words=''
                local previous="${COMP_WORDS[COMP_CWORD-1]}"
                # bash takes the '=' of --reason=… for a word of its own.
                if [ "$current" = '=' ]; then current=''; fi
                if [ "$previous" = '=' ]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi
                case "$previous" in
            \(values)        --config) COMPREPLY=($(compgen -f -- "$current")); return ;;
                esac
                if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
                    words='\(names) --help'
                elif [ -z "$words" ]; then
                    case "${COMP_WORDS[1]}" in
            \(options)        esac
                fi
                COMPREPLY=($(compgen -W "$words" -- "$current"))
            }
            complete -F _dead_letter \(DeadLetterTool.name)

            """
    }

    var fish: String {
        let tool = DeadLetterTool.name
        var lines = ["complete -c \(tool) -f"]
        for command in commands {
            lines.append(
                "complete -c \(tool) -n __fish_use_subcommand -a \(command.name) "
                    + "-d \(quoted(command.syntax.sentence))"
            )
            let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
            for word in Self.operands(command) {
                lines.append("complete -c \(tool) \(condition) -a \(word)")
            }
            for option in command.syntax.options {
                var line = "complete -c \(tool) \(condition) -l \(option.long)"
                if let short = option.short { line += " -s \(short)" }
                if option.argument != nil { line += " -r" }
                if let values = Self.values.first(where: { $0.option == option.long })?.values {
                    line += " -a \(quoted(values.joined(separator: " ")))"
                }
                lines.append(line + " -d \(quoted(option.sentence))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func quoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "\\'" : String($0) }.joined() + "'"
    }
}
