import Testing

/// An identifier from outside is an `Identifier`, which compares by UTF-8: a `String` treats
/// canonically equivalent texts as equal, so two users would share their purchases.
@Suite struct IdentifierRuleTests {
    private static let folders = [
        "Rules/AppStore", "Rules/Entitlements", "Pipeline/Records", "Pipeline/Store", "Pipeline/Stages",
        "Pipeline/Topology", "Tools/Operations",
    ]

    /// Files and folders in which a `String` is right, with the reason.
    private static let exceptions = [
        "Sources/Rules/AppStore/Observation/ObservationClaims.swift": "ClaimCheck compared their bytes",
        "Sources/Rules/AppStore/Receipt/LegacyReceipt.swift": "shown of a refused receipt",
        "Sources/Rules/AppStore/Refusal/UnverifiedIdentifiers.swift": "shown of a refused record",
        "Sources/Rules/AppStore/Trust/ChainFamily.swift": "object identifiers of certificates",
        "Sources/Pipeline/Records/DeadLetter/DeadLetter.swift": "names of our own headers",
        "Sources/Pipeline/Records/Stages/CommitMetadata.swift": "words of commits",
        "Sources/Pipeline/Store/DeadLetters/": "searched for, never decided by",
        "Sources/Pipeline/Store/RecordConstraints.swift": "names of constraints",
        "Sources/Pipeline/Store/Schema/MigrationFolder.swift": "environment variables",
        "Sources/Pipeline/Records/Topic.swift": "names of settings",
        "Sources/Pipeline/Stages/Recovery/PageTrail.swift": "cursors, which nobody shows or stores",
        "Sources/Pipeline/Topology/SharedSettings.swift": "names of settings",
        "Sources/Tools/Operations/Command/": "settings of clients and environment variables",
        "Sources/Tools/Operations/Link/LinkLine.swift": "what is not yet known to be an identifier",
        "Sources/Tools/Operations/Publish/PublishCommand.swift": "settings of a client",
        "Sources/Tools/Operations/Reconcile/AccountReader.swift": "names of topics",
        "Sources/Tools/Operations/Run/": "environment variables",
        "Sources/Tools/Operations/Topics/": "names of topics and their settings",
    ]

    private static func isPlain(_ line: String) -> Bool {
        // The quick checks first: most lines have neither.
        guard line.contains("String") || line.contains(".text") else { return false }
        guard let code = line.split(separator: "//", omittingEmptySubsequences: false).first else { return false }
        let names = [
            /\b\w*([uU]ser|[tT]ransaction|[pP]roduct|[bB]undle|Group|Item)IDs?\??: \[?String\b/,
            /\b(user|currency|reference|sku|entitlementKey|relinkedPurchase)\??: \[?String\b/,
        ]
        let keys = /\[String\??:|\bSet<String>|\bDictionary<String|by: \\[\w.]*\.text\b/
        let compared = /(ID|[uU]ser|[kK]ey|currency)\??\.text\)? *(==|!=|<|>)/
        return names.contains { code.contains($0) } || code.contains(keys) || code.contains(compared)
    }

    @Test(arguments: [
        "let userID: String", "    package var originalTransactionID: String?", "init(userIDs: [String])",
        "var counts: [String: Int64] = [:]", "var users: Set<String> {", "left.userID.text == right",
        #"Dictionary(grouping: held, by: \.userID.text)"#, "(left.key.text) < right.key.text",
    ]) func `a plain text instead of an identifier is found`(line: String) {
        #expect(Self.isPlain(line))
        #expect(!Self.isPlain(line.replacing("String", with: "Identifier").replacing(".text", with: "")))
    }

    @Test func `no identifier is a plain text, and no plain text is a key`() {
        var used: Set<String> = []
        for file in TidyTests.sources where Self.folders.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
            for (number, line) in file.lines.enumerated() where Self.isPlain(String(line)) {
                let exception = Self.exceptions.keys.first(where: file.path.hasPrefix)
                #expect(exception != nil, "\(file.path):\(number + 1) compares as a String")
                exception.map { _ = used.insert($0) }
            }
        }
        #expect(used == Set(Self.exceptions.keys), "an exception that nothing needs")
    }
}
