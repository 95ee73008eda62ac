import AuditConsole
import OpenSSL
import Settings

/// The index of dead letters and the auditors' console of a demo that keeps running.
struct DemoAuditing: Sendable {
    static let program = "dead-letter"
    static let userName = "demo"
    static let startMax = Duration.seconds(60)

    /// The password of the console's user, whose role is operator.
    let password: String
    let settings: String
    let folder: DemoFolder

    private static let indexName = "dead-letter-index"
    private static let consoleName = "console"
    private static let usersFile = "console-users"
    /// The text before the URL in the console's log.
    private static let announcement = "the console is at "

    init(settings: String, folder: DemoFolder) throws(CommandError) {
        self.settings = settings
        self.folder = folder
        password = String(SHA256.digest(RandomBytes.make(32)).hex.prefix(20))
        guard let hash = PasswordHash.make(password) else {
            throw CommandError(ExitCode.unavailable, "too little memory for the console's password")
        }
        try folder.write("\(Self.userName):operator:\(hash.encoded)\n".utf8, to: Self.usersFile)
    }

    /// The arguments of `program` for the index and the console, with the names of their logs.
    var commandLines: [(name: String, arguments: [String])] {
        [
            (Self.indexName, ["index", "--config", settings]),
            (
                Self.consoleName,
                ["serve", "--config", settings, "--port=0", "--password-file", folder.path(of: Self.usersFile)]
            ),
        ]
    }

    /// Returns the console's URL, or `nil` until the console listens.
    func url(in programs: DemoPrograms) -> String? {
        programs.lastWords(of: Self.consoleName, count: .max).first { $0.hasPrefix(Self.announcement) }.map {
            String($0.dropFirst(Self.announcement.count))
        }
    }
}
