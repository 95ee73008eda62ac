import Settings
package import Store

/// The rights of a signed-in user; each role includes the rights of the one before it.
package enum ConsoleRole: String, CaseIterable, Comparable, Sendable {
    /// The right to see everything but the hidden parts of originals.
    case viewer
    /// The further right to reveal hidden parts, which is recorded.
    case investigator
    /// The further right to replay, resolve, suppress and reopen.
    case `operator`

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .investigator: 1
        case .operator: 2
        }
    }

    package static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rank < right.rank }
}

/// The name of a user, as recorded with each action: 1 to 255 bytes.
package struct UserName: Hashable, Sendable, CustomStringConvertible {
    package let auditor: AuditorName

    package var text: String { auditor.text }

    /// Accepts the name of a user.
    ///
    /// `nil` for a name that is empty or too long, begins with `#`, begins or ends with a space, or
    /// holds a colon or a character that a line or a terminal could interpret. In the password file
    /// a colon ends a name, and `#` begins a comment.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), Printable.line(text) == text, !text.contains(":"), text.first != "#",
            text.first != " ", text.last != " ", let auditor = AuditorName(text)
        else { return nil }
        self.auditor = auditor
    }

    package var description: String { text }
}
