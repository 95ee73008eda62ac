// swift-tools-version: 6.2

import PackageDescription

// No outside package: the toolchain's modules and the system's C libraries are all it builds on.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// The wrappers touch C pointers, so every unsafe expression in them has to be marked.
let wrapper: [SwiftSetting] = strict + [.strictMemorySafety()]

/// Puts targets into a folder, by their own path in it or else by their name.
func room(_ folder: String, _ targets: [Target]) -> [Target] {
    for target in targets { target.path = "\(folder)/\(target.path ?? target.name)" }
    return targets
}

func systemLibrary(_ name: String, in folder: String, pkgConfig: String, debian: String) -> Target {
    .systemLibrary(name: name, path: "\(folder)/\(name)", pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil, exclude: [String] = [],
    embedded: [String] = [], settings: [SwiftSetting] = strict
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path, exclude: exclude,
        resources: embedded.map { .embedInCode($0) }, swiftSettings: settings)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

// The only importers of the C modules, each beside its own.
let wrappers = room(
    "Sources/Wrappers",
    [
        systemLibrary("CRDKafka", in: "Kafka", pkgConfig: "rdkafka", debian: "librdkafka-dev"),
        systemLibrary("COpenSSL", in: "OpenSSL", pkgConfig: "libcrypto", debian: "libssl-dev"),
        systemLibrary("CGMP", in: "OpenSSL", pkgConfig: "gmp", debian: "libgmp-dev"),
        systemLibrary("CLibPQ", in: "Postgres", pkgConfig: "libpq", debian: "libpq-dev"),
        systemLibrary("CMicroHTTPD", in: "HTTP", pkgConfig: "libmicrohttpd", debian: "libmicrohttpd-dev"),
        systemLibrary("CCurl", in: "Curl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
        // Functions of the C library that the toolchain's module leaves out.
        .systemLibrary(name: "CMalloc", path: "Platform/CMalloc"),
        // The commit that is built; `deploy/container/build.sh` names it.
        .target(
            name: "CRelease", path: "Release/CRelease",
            cSettings: [.define("COMMIT", to: "\"\(Context.environment["ENTITLEMENTS_COMMIT"] ?? "unknown")\"")]),
        // Limits what a consumer's librdkafka decompresses.
        .target(name: "CDecompression", dependencies: ["CRDKafka"], path: "Kafka/CDecompression"),
        library(
            "Kafka", ["CDecompression", "CRDKafka", "Platform", "Threads"], exclude: ["CDecompression", "CRDKafka"],
            settings: wrapper),
        library("OpenSSL", ["CGMP", "COpenSSL"], exclude: ["CGMP", "COpenSSL"], settings: wrapper),
        library("Postgres", ["CLibPQ", "Platform", "Threads"], exclude: ["CLibPQ"], settings: wrapper),
        library("HTTP", ["CMicroHTTPD", "Platform", "Threads"], exclude: ["CMicroHTTPD"], settings: wrapper),
        library("Curl", ["CCurl", "Threads"], exclude: ["CCurl"], settings: wrapper),
        library("Release", ["CRelease"], exclude: ["CRelease"], settings: wrapper),
        // From the C library: threads, and a lock to wait for.
        library("Threads"),
        // From the C library: environment, files, clock, instead of Foundation. With that and the
        // regular expressions each worker would hold 3 MiB more in memory.
        library("Platform", ["CMalloc"], exclude: ["CMalloc"]),
    ])

// Pure: no clock, no I/O, no environment.
let rules = room(
    "Sources/Rules",
    [
        library("JSON"), library("AppStore", ["JSON", "OpenSSL", "Release"], exclude: ["VERIFICATION.md"]),
        library("Entitlements", ["AppStore", "JSON", "OpenSSL"], exclude: ["RULES.md"]),
    ])

// The workers: one loop, its stages, and what they read and write.
let pipeline = room(
    "Sources/Pipeline",
    [
        // The client of Apple's server.
        library("AppStoreServer", ["AppStore", "Curl", "JSON", "OpenSSL", "Platform"]),
        // The records of our topics.
        library("Records", ["AppStore", "Entitlements", "JSON", "Kafka", "OpenSSL"]),
        // The pipeline.
        library("Settings", ["JSON", "Kafka", "OpenSSL", "Platform", "Release"]),
        library("Telemetry", ["AppStore", "JSON", "Platform", "Settings"]),
        library(
            "Worker",
            [
                "AppStore", "HTTP", "JSON", "Kafka", "OpenSSL", "Platform", "Records", "Release", "Settings",
                "Telemetry",
            ], exclude: ["README.md"]),
        library(
            "Store",
            ["AppStore", "Entitlements", "JSON", "OpenSSL", "Platform", "Postgres", "Records", "Release", "Settings"],
            exclude: ["README.md"]),
        library("Topology", ["AppStore", "Entitlements", "JSON", "OpenSSL", "Platform", "Records", "Settings"]),
        library(
            "Holdings",
            [
                "AppStore", "Entitlements", "JSON", "Kafka", "Postgres", "Records", "Settings", "Store", "Telemetry",
                "Worker",
            ], path: "Stages/Holdings"),
        // Owners and rows by the facts, in the transactions of the workers and of rebuilds.
        library("Derivation", ["AppStore", "Entitlements", "JSON", "OpenSSL", "Postgres", "Records", "Store"]),
        library(
            "VerifyStage",
            [
                "AppStore", "Entitlements", "Kafka", "OpenSSL", "Platform", "Records", "Settings", "Telemetry",
                "Threads", "Topology", "Worker",
            ], path: "Stages/Verify"),
        library(
            "DedupeStage",
            [
                "AppStore", "Entitlements", "Holdings", "Kafka", "Postgres", "Records", "Settings", "Store", "Topology",
                "Worker",
            ], path: "Stages/Dedupe"),
        library(
            "LinkStage",
            [
                "AppStore", "Derivation", "Entitlements", "Holdings", "Kafka", "Postgres", "Records", "Settings",
                "Store", "Telemetry", "Topology", "Worker",
            ], path: "Stages/Link"),
        library(
            "EntitleStage",
            [
                "AppStore", "Derivation", "Entitlements", "Holdings", "JSON", "Kafka", "Postgres", "Records",
                "Settings", "Store", "Telemetry", "Topology", "Worker",
            ], path: "Stages/Entitle"),
        library(
            "RecoveryStage",
            [
                "AppStore", "AppStoreServer", "Curl", "Derivation", "Entitlements", "Holdings", "JSON", "Kafka",
                "OpenSSL", "Platform", "Postgres", "Records", "Settings", "Store", "Telemetry", "Topology", "Worker",
            ], path: "Stages/Recovery"),
    ])

// What people use: commands, reports, the console. No worker links any of it.
let tools = room(
    "Sources/Tools",
    [
        // Command lines, reports and consoles.
        library("Commands", ["JSON", "Platform", "Settings", "Telemetry"]),
        library(
            "DeadLetters",
            [
                "AppStore", "Commands", "JSON", "Kafka", "OpenSSL", "Platform", "Postgres", "Records", "Settings",
                "Store", "Telemetry", "Topology",
            ]),
        // `dead-letter index`, by the loop of every stage.
        library(
            "IndexStage",
            [
                "AppStore", "Commands", "DeadLetters", "Holdings", "JSON", "Kafka", "Platform", "Postgres", "Records",
                "Settings", "Store", "Telemetry", "Topology", "Worker",
            ], path: "Index"),
        // Reports that several tools show.
        library("Reports", ["AppStore", "Commands", "JSON", "Postgres", "Store"]),
        // The auditors' web console.
        library(
            "AuditConsole",
            [
                "AppStore", "Commands", "DeadLetters", "HTTP", "JSON", "OpenSSL", "Platform", "Postgres", "Records",
                "Reports", "Settings", "Store", "Telemetry", "Threads",
            ], embedded: ["Assets/console.css", "Assets/console.js", "Assets/icon.svg"]),
        // The operators' commands.
        library(
            "Operations",
            [
                "AppStore", "Commands", "DeadLetters", "Derivation", "Entitlements", "JSON", "Kafka", "OpenSSL",
                "Platform", "Postgres", "Records", "Reports", "Settings", "Store", "Telemetry", "Topology", "Worker",
            ]),
        library(
            "Demonstration",
            [
                "AppStore", "AuditConsole", "Commands", "DeadLetters", "JSON", "Kafka", "KitWrappers", "OpenSSL",
                "Operations", "Platform", "Postgres", "Records", "Settings", "Simulation", "Store", "Topology",
                "Worker",
            ]),
    ])

// Executables without logic.
let programs = room(
    "Sources/Programs",
    [
        executable("verify-worker", ["Settings", "VerifyStage", "Worker"]),
        executable("dedupe-worker", ["DedupeStage", "Settings", "Worker"]),
        executable("link-worker", ["LinkStage", "Settings", "Worker"]),
        executable("entitle-worker", ["EntitleStage", "Settings", "Worker"]),
        executable("recovery-worker", ["RecoveryStage", "Settings", "Worker"]),
        executable("dead-letter", ["AuditConsole", "Commands", "DeadLetters", "IndexStage", "Settings"]),
        executable("pipeline", ["Commands", "Operations", "Settings"]),
        executable("demo", ["Commands", "Demonstration", "Settings"]),
    ])

// For the demo, the benchmarks and the tests alone.
let kit = room(
    "Tests/Kit",
    [
        // Functions of the C libraries that only simulations, tests and benchmarks call.
        library("KitWrappers", ["COpenSSL", "CRDKafka", "Kafka"], path: "Wrappers", settings: wrapper),
        // Certificate authorities, signed traffic, forgeries, and servers started on this machine.
        library("Simulation", ["AppStore", "HTTP", "JSON", "OpenSSL", "Platform", "Postgres"]),
        library(
            "Benchmarks",
            [
                "AppStore", "Commands", "JSON", "Kafka", "KitWrappers", "OpenSSL", "Operations", "Platform", "Postgres",
                "Records", "Settings", "Simulation", "Store", "Topology", "Worker",
            ]), executable("bench", ["Benchmarks", "Commands", "Settings"]),
        library(
            "TestSupport",
            [
                "AppStore", "Commands", "Entitlements", "HTTP", "JSON", "Kafka", "KitWrappers", "OpenSSL", "Platform",
                "Postgres", "Records", "Settings", "Simulation", "Store", "Telemetry", "Worker",
            ]),
        // Counts calls of the allocators and of libpq in a test's process.
        .target(name: "CCalls"),
    ])

let suites = room(
    "Tests",
    [
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("OpenSSLTests", ["JSON", "OpenSSL", "Simulation", "TestSupport"], exclude: ["Signatures"]),
        tests("ThreadsTests", ["TestSupport", "Threads"]), tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("KafkaTests", ["Kafka", "KitWrappers", "TestSupport"]),
        tests("PostgresTests", ["Postgres", "Simulation", "TestSupport"]),
        tests(
            "StoreTests",
            ["AppStore", "Entitlements", "JSON", "OpenSSL", "Postgres", "Records", "Settings", "Store", "TestSupport"],
            exclude: ["privileges.txt"]),
        tests("SimulationTests", ["AppStore", "HTTP", "JSON", "OpenSSL", "Postgres", "Simulation", "TestSupport"]),
        tests("HTTPTests", ["HTTP", "Simulation", "TestSupport"]), tests("CurlTests", ["Curl", "TestSupport"]),
        tests(
            "AppStoreServerTests",
            ["AppStore", "AppStoreServer", "Curl", "JSON", "OpenSSL", "Simulation", "TestSupport"]),
        tests("CommandsTests", ["Commands", "JSON", "Settings", "TestSupport"]),
        tests("SettingsTests", ["Release", "Settings"], exclude: ["apps.txt"]),
        tests(
            "AppStoreTests",
            [
                "AppStore", "Benchmarks", "CCalls", "Entitlements", "JSON", "Kafka", "OpenSSL", "Records", "Simulation",
                "TestSupport",
            ]),
        tests(
            "EntitlementsTests",
            ["AppStore", "Entitlements", "JSON", "OpenSSL", "Records", "Simulation", "TestSupport"],
            exclude: ["Plans.storekit", "Scenarios", "products.txt"]),
        tests("RecordsTests", ["AppStore", "Entitlements", "JSON", "Kafka", "OpenSSL", "Records", "TestSupport"]),
        tests(
            "WorkerTests",
            [
                "AppStore", "HTTP", "JSON", "Kafka", "KitWrappers", "OpenSSL", "Records", "Release", "Settings",
                "Simulation", "Telemetry", "TestSupport", "Worker",
            ]),
        tests(
            "DeadLettersTests",
            [
                "AppStore", "Commands", "DeadLetters", "Entitlements", "IndexStage", "JSON", "Kafka", "KitWrappers",
                "OpenSSL", "Operations", "Postgres", "Records", "Settings", "Simulation", "Store", "Telemetry",
                "TestSupport", "Topology", "Worker",
            ]),
        tests(
            "AuditConsoleTests",
            [
                "AppStore", "AuditConsole", "Commands", "DeadLetters", "HTTP", "JSON", "Kafka", "KitWrappers",
                "OpenSSL", "Postgres", "Records", "Settings", "Simulation", "Store", "Telemetry", "TestSupport",
                "Worker",
            ]),
        tests(
            "StagesTests",
            [
                "AppStore", "AppStoreServer", "CCalls", "Commands", "DedupeStage", "Derivation", "EntitleStage",
                "Entitlements", "IndexStage", "JSON", "Kafka", "KitWrappers", "LinkStage", "OpenSSL", "Operations",
                "Postgres", "Records", "RecoveryStage", "Settings", "Simulation", "Store", "Telemetry", "TestSupport",
                "Topology", "VerifyStage", "Worker",
            ]),
        tests(
            "OperationsTests",
            [
                "AppStore", "Commands", "Entitlements", "JSON", "Kafka", "KitWrappers", "Operations", "Postgres",
                "Records", "Settings", "Simulation", "Store", "TestSupport", "Topology", "Worker",
            ]),
        tests(
            "BenchmarksTests",
            ["Benchmarks", "JSON", "Records", "Settings", "Simulation", "TestSupport", "Topology", "Worker"]),
        tests(
            "DemonstrationTests",
            [
                "AppStore", "Commands", "Demonstration", "Entitlements", "JSON", "OpenSSL", "Operations", "Records",
                "Release", "Simulation", "Store", "TestSupport", "Topology",
            ]),
        tests(
            "IntegrationTests",
            [
                "AppStore", "Benchmarks", "Commands", "DeadLetters", "Demonstration", "Entitlements", "HTTP",
                "IndexStage", "JSON", "Kafka", "KitWrappers", "OpenSSL", "Operations", "Platform", "Postgres",
                "Records", "Settings", "Simulation", "Store", "Telemetry", "TestSupport", "Topology", "Worker",
            ]), tests("TidyTests", exclude: ["Rules/rules.txt", "arithmetic.txt", "cases.txt"]),
    ])

let package = Package(
    name: "entitlement-pipeline", targets: wrappers + rules + pipeline + tools + programs + kit + suites,
    swiftLanguageModes: [.v6])

// Linked by deploy/fuzz.sh with libFuzzer's own main, so that no other build has them.
if Context.environment["FUZZING"] != nil {
    package.targets += room(
        "Tests/Fuzz",
        [
            library(
                "FuzzTargets",
                [
                    "AppStore", "AppStoreServer", "DeadLetters", "JSON", "Kafka", "OpenSSL", "Records", "RecoveryStage",
                    "Simulation",
                ], path: "Targets")
        ])
    package.products.append(.library(name: "FuzzTargets", type: .static, targets: ["FuzzTargets"]))
}
