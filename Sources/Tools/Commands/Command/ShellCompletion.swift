import Settings

extension ToolCommand {
    /// The command `TOOL completion`, which prints a shell's completion, made from the commands' declarations.
    static func completion(_ tool: String, of commands: [CommandSyntax]) -> ToolCommand {
        let syntax = CommandSyntax(
            "\(tool) completion",
            "Prints the completion of a shell, to be loaded by it: in bash with "
                + "'source <(\(tool) completion bash)', in zsh with the same, in fish with "
                + "'\(tool) completion fish | source'.", operands: "bash|zsh|fish", operandCount: 1...1)
        return ToolCommand(syntax: syntax) { arguments, context in
            let completion = ShellCompletion(tool, commands + [syntax])
            switch arguments.operands[0] {
            case "bash": context.console.print(text: completion.bash)
            case "zsh":
                // zsh can run bash's completions.
                context.console.print(text: "autoload -U +X bashcompinit && bashcompinit\n" + completion.bash)
            case "fish": context.console.print(text: completion.fish)
            case let other: throw UsageError("expected bash, zsh or fish, found \"\(other)\"")
            }
            return ExitCode.success
        }
    }
}

/// The completions of a tool, in the languages of the shells.
struct ShellCompletion {
    private let tool: String
    private let commands: [CommandSyntax]

    init(_ tool: String, _ commands: [CommandSyntax]) {
        self.tool = tool
        self.commands = commands
    }

    /// The commands' first words, each once, with the second words of a family such as `pipeline link`.
    private var families: [(first: String, seconds: [String])] {
        var families: [(first: String, seconds: [String])] = []
        for words in commands.map(\.nameWords) {
            guard let first = words.first else { continue }
            if families.last?.first != first { families.append((first, [])) }
            families[families.count - 1].seconds += words.dropFirst()
        }
        return families
    }

    /// The options with a fixed set of values, each once.
    private var choices: [CommandOption] {
        var known: Set<String> = []
        return commands.flatMap(\.options).filter { option in
            !option.choices.isEmpty && known.insert(option.long).inserted
        }
    }

    /// Returns the allowed words of a command's operand; empty if others are allowed.
    private static func operands(_ command: CommandSyntax) -> [String] {
        let words = command.operands.split(separator: "|").map(String.init)
        return words.allSatisfy { $0.lowercased() == $0 } ? words : []
    }

    private static func words(_ command: CommandSyntax) -> String {
        (command.options.map { "--\($0.long)" } + operands(command)).joined(separator: " ")
    }

    var bash: String {
        let function = "_" + tool.split(separator: "-").joined(separator: "_")
        let values = choices.map { "        --\($0.long)) words='\($0.choices.joined(separator: " "))' ;;\n" }.joined()
        let seconds = families.filter { !$0.seconds.isEmpty }.map {
            "            '\($0.first)') words='\($0.seconds.joined(separator: " "))' ;;\n"
        }.joined()
        // Put the options of a command without a name, which are the tool's, last.
        let named = commands.filter { !$0.nameWords.isEmpty }
        let own = commands.filter(\.nameWords.isEmpty)
        let options =
            named.map { command in
                let name = command.nameWords.joined(separator: " ")
                let pattern = command.nameWords.count > 1 ? "'\(name)'" : "'\(name)'|'\(name) '*"
                return "            \(pattern)) words='\(Self.words(command))' ;;\n"
            } + own.map { "            *) words='\(Self.words($0))' ;;\n" }
        let first = (families.map(\.first) + own.map(Self.words)).joined(separator: " ")
        return """
            \(function)() {
                local current="${COMP_WORDS[COMP_CWORD]}" words='' command="${COMP_WORDS[1]}"
                local previous="${COMP_WORDS[COMP_CWORD-1]}"
                # bash takes the '=' of --reason=… for a word of its own.
                if [ "$current" = '=' ]; then current=''; fi
                if [ "$previous" = '=' ]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi
                if [ "$COMP_CWORD" -gt 2 ]; then command="$command ${COMP_WORDS[2]}"; fi
                case "$previous" in
            \(values)        --config) COMPREPLY=($(compgen -f -- "$current")); return ;;
                esac
                if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
                    words='\(first) --help'
                elif [ -z "$words" ]; then
                    case "$command" in
            \(seconds)\(options.joined())        esac
                fi
                COMPREPLY=($(compgen -W "$words" -- "$current"))
            }
            complete -F \(function) \(tool)

            """
    }

    var fish: String {
        var lines = ["complete -c \(tool) -f"]
        for family in families {
            let single = commands.first { $0.nameWords == [family.first] }
            let sentence = single.map { " -d \(Self.quoted($0.sentence))" } ?? ""
            lines.append("complete -c \(tool) -n __fish_use_subcommand -a \(family.first)\(sentence)")
        }
        return (lines + commands.flatMap(fishLines)).joined(separator: "\n") + "\n"
    }

    private func fishLines(_ command: CommandSyntax) -> [String] {
        let words = command.nameWords
        let seen = words.map { "__fish_seen_subcommand_from \($0)" }
        let condition = words.isEmpty ? "__fish_use_subcommand" : seen.joined(separator: "; and ")
        let prefix = "complete -c \(tool) -n '\(condition)'"
        var lines = Self.operands(command).map { "\(prefix) -a \($0)" }
        if words.count > 1, let family = families.first(where: { $0.first == words[0] }) {
            let others = family.seconds.joined(separator: " ")
            lines.append(
                "complete -c \(tool) -n '\(seen[0]); and not __fish_seen_subcommand_from "
                    + "\(others)' -a \(words[1]) -d \(Self.quoted(command.sentence))")
        }
        for option in command.options {
            var line = "\(prefix) -l \(option.long)"
            if let short = option.short { line += " -s \(short)" }
            if option.argument != nil { line += " -r" }
            if !option.choices.isEmpty { line += " -a \(Self.quoted(option.choices.joined(separator: " ")))" }
            lines.append(line + " -d \(Self.quoted(option.sentence))")
        }
        return lines
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "\\'" : String($0) }.joined() + "'"
    }
}
