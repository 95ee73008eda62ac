import Commands
import DeadLetters
import Foundation
import Settings

enum PasswordCommand: DeadLetterCommand {
    static let name = "password"
    static let summary =
        "Makes a line for the console's file of users (console.password_file): append it there. "
        + "The password is asked for on the terminal, or is the first line of standard input."
    static let operands = "NAME"
    static let operandCount = 1...1
    static let options = [
        CommandOption(
            "role", argument: "ROLE",
            "What the user may do: viewer, investigator (may reveal) or operator (may replay).")
    ]
    static let commonOptions: [CommandOption] = []

    /// Minimum length of a password, because short ones are guessed quickly.
    static let charactersMin = 12

    static func run(_ context: ToolContext) async throws -> Int32 {
        let (arguments, console) = (context.arguments, context.console)
        guard let name = UserName(arguments.operands[0]) else {
            throw UsageError(
                "expected a name of 1 to 255 bytes without colons and control characters, found "
                    + "\"\(arguments.operands[0])\"")
        }
        guard let role: ConsoleRole = try arguments.value("role", as: .choice) else {
            throw UsageError("--role is missing: expected viewer, investigator or operator")
        }
        guard let password = try PasswordPrompt.read(console) else {
            throw CommandError(ExitCode.noInput, "there was no password on standard input")
        }
        guard password.count >= charactersMin, password.utf8.count <= PasswordHash.passwordBytesMax else {
            throw CommandError(
                ExitCode.data,
                "expected a password of at least \(charactersMin) characters and at most "
                    + "\(PasswordHash.passwordBytesMax) bytes")
        }
        guard let hash = PasswordHash.make(password) else {
            throw CommandError(ExitCode.unavailable, "too little memory for the hash (64 MiB)")
        }
        console.print("\(name):\(role.rawValue):\(hash.encoded)")
        return ExitCode.success
    }
}

/// Reads a password without showing it.
private enum PasswordPrompt {
    /// Asks twice on a terminal; reads a line of any other input.
    ///
    /// `nil` at the end of the input.
    static func read(_ console: Console) throws -> String? {
        guard isatty(STDIN_FILENO) == 1 else { return readLine(strippingNewline: true) }
        guard let first = ask("Password: ", console), let again = ask("Again: ", console) else { return nil }
        guard first == again else { throw UsageError("the two passwords differ") }
        return first
    }

    private static func ask(_ prompt: String, _ console: Console) -> String? {
        var former = termios()
        guard tcgetattr(STDIN_FILENO, &former) == 0 else { return nil }
        var silent = former
        silent.c_lflag &= ~tcflag_t(ECHO)
        console.note(prompt)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &former) }
        return readLine(strippingNewline: true)
    }
}
