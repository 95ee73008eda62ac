import Testing

/// Plain English in comments, messages and test names.
@Suite struct EnglishTests {
    /// The areas that the rule covers.
    static let covered = [
        "Sources/AppStore/", "Sources/AuditConsole/", "Sources/Benchmarks/",
        "Sources/DeadLetters/", "Sources/Demonstration/", "Sources/Entitlements/", "Sources/HTTP/",
        "Sources/JSON/", "Sources/Kafka/", "Sources/OpenSSL/", "Sources/Operations/",
        "Sources/Platform/", "Sources/Postgres/", "Sources/Records/", "Sources/Settings/",
        "Sources/Simulation/", "Sources/Stages/", "Sources/Store/", "Sources/Threads/",
        "Sources/Worker/",
        "Tests/AppStoreTests/", "Tests/AuditConsoleTests/", "Tests/BenchmarksTests/",
        "Tests/DeadLettersTests/", "Tests/DemonstrationTests/", "Tests/EntitlementsTests/",
        "Tests/Fuzz/", "Tests/HTTPTests/", "Tests/IntegrationTests/", "Tests/JSONTests/",
        "Tests/KafkaTests/", "Tests/OpenSSLTests/", "Tests/OperationsTests/",
        "Tests/PlatformTests/", "Tests/PostgresTests/", "Tests/RecordsTests/",
        "Tests/SettingsTests/", "Tests/SimulationTests/", "Tests/StagesTests/",
        "Tests/StoreTests/", "Tests/TestSupport/", "Tests/ThreadsTests/",
        "Tests/WorkerTests/",
    ]

    private static var archaic: Regex<(Substring, Substring, Substring?, Substring?)> {
        #/\b(anew|(is|are) none|be (it|they)|whom|whomever|for whose sake|whoever|for ever|went elsewhere|meanwhile)\b/#
            .ignoresCase()
    }

    @Test func `no comment opens with a headless clause, and no archaic word stands in the code`() {
        let opening = #/^\s*/// (What|Who|Whose|Those|That|Of|Has|Have) /#
        let archaic = Self.archaic
        let files = TidyTests.everything.filter { file in
            Self.covered.contains { file.path.hasPrefix($0) }
        }
        #expect(files.count > 300)
        for file in files {
            var isInComment = false
            for (number, line) in file.lines.enumerated() {
                let position = "\(file.path):\(number + 1)"
                #expect(isInComment || line.firstMatch(of: opening) == nil, "\(position): \(line)")
                #expect(line.firstMatch(of: archaic) == nil, "\(position): \(line)")
                isInComment = line.drop { $0 == " " }.hasPrefix("///")
            }
        }
    }
}
