import AppStore
import Commands
import Foundation
import Operations
import Settings
import Simulation

extension DemoTool {
    /// The command `demo sample`.
    static let sample = ToolCommand(
        syntax: CommandSyntax(
            "\(name) sample",
            "Writes bodies for an app of your own, signed by a local certificate authority.\n\n"
                + "The bodies go to standard output, one a line, as 'pipeline publish' reads them. "
                + "The authority is made in a folder at first, and used again from then on. "
                + "Beside it are apps.json, the setting by which verify-worker trusts it, and "
                + "catalog.json for 'pipeline catalog apply'. Everybody with the folder can "
                + "sign purchases: trust it in trials and tests only.\n\n"
                + "Kinds: \(SampleKind.names). With --story, bodies, catalog and links come from a "
                + "scenario file as in schemas/scenarios, with the IDs and dates of the file: "
                + "two stories need a database each.",
            options: [
                CommandOption("bundle-id", argument: "ID", "The app's bundle ID; required."),
                CommandOption(
                    "environment", argument: "NAME",
                    "Sandbox, which is the default, or Production, which a story of Production requires."),
                CommandOption(
                    "user-token", argument: "UUID",
                    "The appAccountToken of all purchases; a new one for each unless given."),
                CommandOption("product", argument: "ID", "The product; named after the app unless given."),
                CommandOption("kind", argument: "KIND", "What happens; purchase unless given."),
                CommandOption("count", short: "n", argument: "N", "How many times; 1 by default."),
                CommandOption("story", argument: "FILE", "A scenario instead of a kind."),
                CommandOption("folder", argument: "PATH", "Where the authority is; ./sample unless given."),
            ]),
        run: { arguments, context in
            let folder = try SampleFolder(arguments.value("folder") ?? "sample")
            let sample = try Sample(arguments, signers: { try folder.signers() })
            let next = try folder.write(sample)
            sample.bodies.forEach { context.console.print(json: $0) }
            context.console.note(next)
            return ExitCode.success
        })
}

/// The bodies that a command line requests, with their links and notes.
struct Sample {
    let bodies: [[UInt8]]
    let apps: [DemoApp]
    let catalog: [UInt8]
    /// The links for `pipeline link add --from`.
    ///
    /// `nil` if the user is chosen by the operator.
    private(set) var links: [UInt8]?
    /// The next commands to run, and remarks.
    private(set) var notes: [String] = []

    private static let countMax = 100_000
    private static let environments = ["Sandbox", "Production"]

    init(_ arguments: CommandArguments, signers: () throws -> DemoSigners) throws {
        guard let bundleID = try Self.identifier("bundle-id", arguments) else {
            throw UsageError("--bundle-id is required: the app's bundle ID")
        }
        if let path = arguments.value("story") {
            let others = ["user-token", "product", "kind", "count"]
            if let other = others.first(where: arguments.isSet) {
                throw UsageError("--\(other): the file of --story says it; leave it out")
            }
            let story = try SampleStory(path, bundleID)
            let environment = try Self.choice("environment", arguments, of: Self.environments)
            guard environment == "Production" || !story.apps.contains(where: { $0.environment == "Production" }) else {
                throw UsageError(
                    "\(path) tells of Production: --environment Production if the pipeline may trust the folder there")
            }
            bodies = try story.bodies(signers())
            (apps, catalog, links) = (story.apps, story.catalog, story.links)
            notes = story.remarks
            return
        }
        let app = DemoApp(
            bundleID: bundleID, environment: try Self.choice("environment", arguments, of: Self.environments))
        let kinds = SampleKind.allCases.map(\.rawValue)
        let kind = SampleKind(rawValue: try Self.choice("kind", arguments, of: kinds)) ?? .purchase
        let traffic = SampleTraffic(kind, of: try Self.identifier("product", arguments), in: app)
        let tokens = try Self.tokens(arguments)
        let made = try traffic.bodies(of: tokens, now: Self.now, signers: signers())
        bodies = made.bodies
        apps = [app]
        catalog = traffic.catalog
        // A receipt contains no token.
        let key = kind == .receipt ? "original_transaction_id \(made.originals[0])" : "account_token \(tokens[0])"
        notes = ["pipeline link add \(key) USER --by NAME --reason TEXT"]
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    private static func tokens(_ arguments: CommandArguments) throws(UsageError) -> [String] {
        let count = try arguments.value("count", as: .int(1...countMax)) ?? 1
        guard let text = arguments.value("user-token") else {
            return (0..<count).map { _ in UUID().uuidString.lowercased() }
        }
        guard let token = AccountToken(text) else {
            throw UsageError("--user-token: expected a UUID that is not nil, found \"\(text)\"")
        }
        return Array(repeating: token.canonical, count: count)
    }

    /// Returns the given choice, or the first one.
    private static func choice(_ option: String, _ arguments: CommandArguments, of choices: [String]) throws(UsageError)
        -> String
    {
        let text = arguments.value(option) ?? choices[0]
        guard choices.contains(text) else {
            throw UsageError("--\(option): expected one of \(choices.joined(separator: ", ")), found \"\(text)\"")
        }
        return text
    }

    private static func identifier(_ option: String, _ arguments: CommandArguments) throws(UsageError) -> String? {
        guard let text = arguments.value(option) else { return nil }
        guard Identifier(entering: text) != nil else {
            throw UsageError("--\(option): expected \(Identifier.entryRule)")
        }
        return text
    }
}
