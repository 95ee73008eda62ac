import Foundation
import Testing

/// House rules that no formatter checks.
@Suite struct TidyTests {
    static let cModules: [String: String] = [
        "CCalls": "Tests/", "CDecompression": "Sources/Wrappers/Kafka/", "CRDKafka": "Sources/Wrappers/Kafka/",
        "CGMP": "Sources/Wrappers/OpenSSL/", "COpenSSL": "Sources/Wrappers/OpenSSL/",
        "CLibPQ": "Sources/Wrappers/Postgres/", "CMicroHTTPD": "Sources/Wrappers/HTTP/",
        "CCurl": "Sources/Wrappers/Curl/", "CMalloc": "Sources/Wrappers/Platform/",
        "CRelease": "Sources/Wrappers/Release/",
    ]
    static let pureTargets = ["Sources/Rules/"]
    /// The code of the product, of the demo's servers and of the benchmarks.
    static let sources =
        (try? SourceTree.swiftFiles(below: [
            "Sources", "Tests/Kit/bench", "Tests/Kit/Benchmarks", "Tests/Kit/Simulation", "Tests/Kit/Wrappers",
        ])) ?? []
    static let everything = (try? SourceTree.swiftFiles(below: ["Sources", "Tests"])) ?? []

    @Test func `the source tree is found`() {
        #expect(Self.sources.count > 50)
        #expect(Self.everything.count > Self.sources.count)
    }

    @Test func `each C module is imported by its wrapper alone`() {
        for file in Self.everything {
            for line in file.lines where line.contains("import C") {
                guard let module = line.split(separator: " ").last.map(String.init), let owner = Self.cModules[module]
                else { continue }
                let isOwn = file.path.hasPrefix(owner) || file.path.hasPrefix("Tests/Kit/Wrappers/")
                #expect(isOwn, "\(file.path) imports \(module)")
            }
        }
    }

    @Test func `pure targets have no clock, no environment and no I/O`() {
        let impure = [
            "import Foundation", "import Glibc", "import Dispatch", "Date()", "Clock()", "ProcessInfo", "FileManager",
            "getenv(",
        ]
        for file in Self.sources where Self.pureTargets.contains(where: file.path.hasPrefix) {
            for (number, line) in file.lines.enumerated() where !line.contains("//") {
                for word in impure { #expect(!line.contains(word), "\(file.path):\(number + 1) has \(word)") }
            }
        }
    }

    @Test func `no worker links Foundation, nor what regular expressions need`() throws {
        let targets = try Manifest.targets.get()
        let workers = targets.keys.filter { $0.hasSuffix("-worker") }
        #expect(workers.count == 5)
        let linked = try Self.linked(by: workers)
        #expect(linked.count > 10)
        for target in targets.values where linked.contains(target.name) {
            for file in Self.sources where file.path.hasPrefix(target.folder + "/") {
                let hasFoundation = file.imports.contains { $0.hasPrefix("Foundation") }
                #expect(!hasFoundation, "\(file.path)")
            }
        }
        // A string's `contains(_:)` and `replacing(_:with:)` use them too.
        let mark = Data("17_StringProcessing".utf8)
        for name in ["verify", "dedupe", "link", "entitle", "recovery"].map({ "\($0)-worker" }) {
            let url = SourceTree.products.appending(path: name)
            #expect(try Data(contentsOf: url).range(of: mark) == nil, "\(name)")
        }
    }

    /// The targets that some link, with all those below them.
    private static func linked(by names: [String]) throws -> Set<String> {
        let targets = try Manifest.targets.get()
        var linked: Set<String> = []
        var open = names
        while let name = open.popLast() {
            guard let target = targets[name], linked.insert(name).inserted else { continue }
            open += target.dependencies
        }
        return linked
    }

    @Test func `the auditors' library and console link neither the loop nor a stage`() throws {
        let linked = try Self.linked(by: ["AuditConsole", "DeadLetters"])
        #expect(linked.isSuperset(of: ["Records", "Topology"]))
        #expect(linked.allSatisfy { $0 != "Worker" && !$0.hasSuffix("Stage") })
    }

    @Test func `no tool links a stage`() throws {
        let tools = try Manifest.targets.get().values.filter { $0.folder.hasPrefix("Sources/Tools/") }
        #expect(tools.count > 5)
        for tool in tools {
            let linked = try Self.linked(by: [tool.name]).subtracting([tool.name])
            #expect(linked.allSatisfy { !$0.hasSuffix("Stage") }, "\(tool.name)")
        }
    }

    @Test func `only the demo, the benchmarks and tests link what forges certificates`() throws {
        let forging: Set = ["Simulation", "Demonstration", "Benchmarks", "demo", "bench"]
        let targets = try Manifest.targets.get().values.filter { !$0.isTest }
        #expect(targets.count > 20)
        for target in targets where !forging.contains(target.name) {
            #expect(forging.isDisjoint(with: target.dependencies), "\(target.name) links it")
        }
    }

    @Test func `the loop of all stages names none of them`() {
        let named = /(?i)\b(verify|dedupe|link|entitle)(-?(worker|stage|settings|metrics))?\b/
        let topics = /"(raw|verified|unique|linked|entitlements\.\w+)"/
        for file in Self.sources where file.path.hasPrefix("Sources/Pipeline/Worker/") {
            for (number, line) in file.lines.enumerated() {
                #expect(
                    line.firstMatch(of: named) == nil && line.firstMatch(of: topics) == nil,
                    "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    /// Rows and figures that only a measurement needs, and no worker would write or read.
    static let foreignSQL: Set = [
        "Tests/Kit/Benchmarks/Pipeline/ServerActivity.swift", "Tests/Kit/Benchmarks/Pipeline/BenchDatabase.swift",
    ]

    @Test func `SQL is in the store, and in the wrapper of libpq for a session's needs`() {
        let homes = ["Sources/Pipeline/Store/", "Sources/Wrappers/Postgres/"]
        let files = Self.sources.filter { file in
            !homes.contains(where: file.path.hasPrefix) && !Self.foreignSQL.contains(file.path)
        }
        #expect(files.count > 200)
        for file in files {
            for (number, line) in file.lines.enumerated() {
                let place = "\(file.path):\(number + 1)"
                #expect(line.firstMatch(of: Self.sql) == nil, "\(place) holds SQL")
                #expect(!line.contains("PostgresStatement("), "\(place) makes a statement")
                #expect(!line.contains(".execute(script:"), "\(place) runs a script")
            }
        }
    }

    private static var sql: Regex<Substring> {
        #/
        \b (?: SELECT | INSERT\ INTO | DELETE\ FROM | UPDATE\ [a-z_]+\ SET | TRUNCATE
            | CREATE\ TABLE | pg_(?:advisory|notify)\w* ) \b
        /#
    }

    @Test func `a payload becomes facts in one place, for verify-worker and for rebuild`() {
        let readers = ["Sources/Rules/AppStore/", "Sources/Rules/Entitlements/Facts/"]
        let names = ["TransactionPayload(", "RenewalPayload(", "ContentHash.of(", "SignedPayloads("]
        let makers: Set = [
            "Sources/Pipeline/Records/Observation.swift", "Sources/Tools/Operations/Rebuild/RecordedContents.swift",
        ]
        let files = Self.sources.filter { !readers.contains(where: $0.path.hasPrefix) }
        #expect(files.count > 200)
        for file in files where !makers.contains(file.path) {
            for (number, line) in file.lines.enumerated() {
                for name in names { #expect(!line.contains(name), "\(file.path):\(number + 1) reads a payload") }
            }
        }
    }

    @Test func `an executable only assembles`() throws {
        let mains = Self.sources.filter { $0.path.hasSuffix("/main.swift") }
        #expect(mains.count == 9)
        for main in mains { #expect(main.lines.count <= 40, "\(main.path) has \(main.lines.count) lines") }
    }

    /// The formatter checks the columns.
    @Test(arguments: everything) func `a file has at most 400 lines`(file: SourceTree.File) {
        #expect(file.lines.count <= 401, "\(file.path) has \(file.lines.count) lines")
    }

    @Test(arguments: everything) func `a function has at most 70 lines`(file: SourceTree.File) {
        for declaration in DeclarationLength.measure(file) {
            #expect(declaration.count <= 70, "\(file.path):\(declaration.line)")
        }
    }

    /// Files with functions of three values without a label: declarations, log lines and reports.
    private static let positional = [
        "Sources/Pipeline/Settings/Setting.swift", "Sources/Pipeline/Store/Statement/Parameter.swift",
        "Sources/Pipeline/Telemetry/Log.swift", "Sources/Pipeline/Worker/Session/SessionCore.swift",
        "Sources/Tools/Commands/", "Tests/Kit/",
    ]

    @Test(arguments: sources) func `a function takes at most two values without a label, declarations three`(
        file: SourceTree.File
    ) {
        let limit = Self.positional.contains(where: file.path.hasPrefix) ? 3 : 2
        for declaration in UnlabelledParameters.all(in: file) {
            #expect(declaration.count <= limit, "\(file.path):\(declaration.line)")
        }
    }

    @Test(arguments: [
        ("func f(_ a: Int, _ b: (Int, _ x: Int) -> Void, c: Int)", 2),
        ("private init?<A>(\n    _ a: A,\n    _ b: A = a.init(_, _)\n) {", 2),
        ("func called(_ a: UnsafeRawPointer?, _ b: Int)", nil), ("x.init(_ a, _ b)", nil),
    ]) func `parameters without a label are counted`(code: String, count: Int?) {
        let lines = code.split(separator: "\n")
        let found = UnlabelledParameters.all(in: SourceTree.File(path: "A.swift", lines: lines))
        #expect(found.first?.count == count)
    }

    @Test func `nothing crashes on purpose and nothing is left for later`() {
        let banned = ["fatalError(", "try!", "as!", "TO" + "DO", "FIX" + "ME", "XX" + "X"]
        for file in Self.sources {
            for (number, line) in file.lines.enumerated() {
                for word in banned { #expect(!line.contains(word), "\(file.path):\(number + 1) has \(word)") }
            }
        }
    }

    @Test func `a file's path is not percent-encoded`() {
        // Without an argument it is percent-encoded, as in a URL.
        let encoded = "." + "path()"
        for file in Self.everything {
            for (number, line) in file.lines.enumerated() {
                #expect(!line.contains(encoded), "\(file.path):\(number + 1)")
            }
        }
    }

    @Test func `tests wait for conditions and never sleep`() {
        let sleeps = ["Task." + "sleep", "usleep" + "(", "Thread." + "sleep"]
        for file in Self.everything where file.path.hasPrefix("Tests/") {
            guard !file.path.hasPrefix("Tests/Kit/") else { continue }
            for (number, line) in file.lines.enumerated() {
                for word in sleeps { #expect(!line.contains(word), "\(file.path):\(number + 1) has \(word)") }
            }
        }
    }

    @Test func `type names say what a thing is`() {
        let vague = /\b(struct|class|enum|actor|protocol) \w*(Manager|Helper|Util|Utils|Processor)\b/
        for file in Self.sources {
            for (number, line) in file.lines.enumerated() where line.firstMatch(of: vague) != nil {
                Issue.record("\(file.path):\(number + 1): \(line)")
            }
        }
    }

    @Test func `no two types at the top level of the sources have one name`() {
        let declaration = /^(?:[a-z]+ )*(?:struct|class|enum|actor|protocol|typealias) (\w+)/
        var places: [Substring: [String]] = [:]
        for file in Self.sources {
            for line in file.lines {
                guard let match = line.firstMatch(of: declaration) else { continue }
                places[match.1, default: []].append(file.path)
            }
        }
        #expect(places.filter { $0.value.count > 1 }.isEmpty)
        #expect(places.count > 500)
    }

    @Test(.needsRepository) func `the top level holds what the layout names and nothing else`() throws {
        let paths = try #require(SourceTree.tracked)
        let expected: Set = ["Package.swift", "Sources", "Tests", "deploy", "schemas", "README.md"]
        let top = Set(paths.compactMap { $0.split(separator: "/").first })
        for name in top where !name.hasPrefix(".") {
            #expect(expected.contains(String(name)), "\(name) at the top level")
        }
    }

    @Test(.needsRepository) func `no document is cited that is not in the repository`() throws {
        let foreign = ["DES" + "IGN", "STY" + "LE.md", "APP" + "LE.md"]
        for path in try #require(SourceTree.tracked) {
            let url = SourceTree.root.appending(path: path)
            guard let text = try? String(contentsOf: url, encoding: .utf8) else { continue }
            for name in foreign { #expect(!text.contains(name), "\(path) cites \(name)") }
        }
    }

    @Test(.needsRepository) func `no two names differ only in case`() throws {
        let paths = try #require(SourceTree.tracked)
        let folded = Dictionary(grouping: paths) { $0.lowercased() }
        #expect(folded.values.filter { $0.count > 1 }.isEmpty)
    }

    @Test func `each test that the guarantees name exists`() throws {
        let guarantees = try String(contentsOf: SourceTree.root.appending(path: "Tests/GUARANTEES.md"), encoding: .utf8)
        let rows = guarantees.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2)
        #expect(rows.count >= 8)
        let tests = Self.everything.filter { $0.path.hasPrefix("Tests/") }.map { $0.lines.joined(separator: "\n") }
        for row in rows {
            let shown = try #require(row.split(separator: "|").last)
            let parts = shown.split(separator: "`", omittingEmptySubsequences: false)
            // Between each pair of back quotes.
            let names = parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] }
            #expect(!names.isEmpty, "\(row) names no test")
            for name in names { #expect(tests.contains { $0.contains("func `\(name)`(") }, "no test is \(name)") }
        }
    }
}
