import AppStore
import Commands
import Settings
import Store

/// Reads links from a command line or a file, in bounded batches.
struct LinkSource {
    /// Maximum links of a batch, which one statement writes completely or not at all.
    private static let batchMax = 2_000
    private static let lineBytesMax = 8_192

    private var single: [AccountLink] = []
    private var lines: LineReader?
    private var name = ""
    private let isUserRequired: Bool
    /// The scope from the options, for links that name no environment or app.
    private let scope: LinkLine.Scope

    /// - Parameter operandCount: number of operands: 3 if a user is required, 2 if the key is enough.
    init(_ arguments: CommandArguments, operandCount: Int) throws {
        isUserRequired = operandCount == 3
        let environment: AppleEnvironment? = try arguments.value("environment", as: .choice)
        let bundle = try arguments.value("bundle").map { text throws(UsageError) in
            try ToolCommand.entering(text, as: "--bundle").text
        }
        scope = (environment?.rawValue ?? "", bundle ?? "")
        let operands = arguments.operands
        if let path = arguments.value("from") {
            guard operands.isEmpty else {
                throw UsageError("--from: the links come from the file, not also as operands")
            }
            lines = LineReader(lineBytesMax: Self.lineBytesMax, of: try BodySource.open(path))
            name = BodySource.name(of: path)
            return
        }
        guard operands.count == operandCount else {
            throw UsageError("expected KIND KEY\(isUserRequired ? " USER" : ""), or links from a file: --from")
        }
        guard let kind = LinkKind(spelling: operands[0]) else {
            throw UsageError("expected one of \(LinkKind.spellings), found \"\(operands[0])\"")
        }
        do throws(LinkLine.Fault) {
            let fields: LinkLine.Fields = (
                kind: operands[0], key: operands[1], user: isUserRequired ? operands[2] : "",
                environment: scope.environment, bundle: scope.bundle
            )
            single = [try LinkLine.link(kind, fields, isUserRequired: isUserRequired)]
        } catch { throw UsageError("expected \(error.expected)") }
    }

    /// Reads a file of links with users.
    init(of path: String) throws {
        isUserRequired = true
        scope = ("", "")
        lines = LineReader(lineBytesMax: Self.lineBytesMax, of: try BodySource.open(path))
        name = BodySource.name(of: path)
    }

    /// Returns the next batch, or `nil` at the end.
    ///
    /// - Throws: a `CommandError` that names a line without a valid link; links before that line
    ///   stay written, and may be written again.
    mutating func next() throws(CommandError) -> [AccountLink]? {
        if !single.isEmpty {
            defer { single = [] }
            return single
        }
        guard var reader = lines else { return nil }
        var batch: [AccountLink] = []
        do {
            while batch.count < Self.batchMax, let line = try reader.next() {
                let link = try LinkLine.parse(
                    line, isFirst: reader.lineNumber == 1, isUserRequired: isUserRequired, scope: scope)
                if let link { batch.append(link) }
            }
        } catch { throw Self.failure(error, name, line: reader.lineNumber) }
        lines = reader
        return batch.isEmpty ? nil : batch
    }

    /// The error for a line that cannot be read.
    static func failure(_ error: any Error, _ name: String, line number: Int) -> CommandError {
        switch error {
        case let fault as LinkLine.Fault: CommandError(ExitCode.data, "\(name):\(number): expected \(fault.expected)")
        case let error as LineReader.LineTooLong:
            CommandError(ExitCode.data, "\(name):\(error.lineNumber): the line is too long")
        default: CommandError(ExitCode.noInput, "cannot read \(name)")
        }
    }
}
